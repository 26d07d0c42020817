"""Which evaluation items training has seen: at small knobs different random streams meet."""

import numpy as np
from numpy.typing import NDArray

from anira.tasks import BLOCK, IGNORE, Rows, Task
from anira.tasks.held_out import prefix_hashes
from anira.tasks.offset import without_offset

LARGEST = 2_000_000
"""Training rows beyond which the question is not asked: it takes a pass over all of them."""


class Overlap:
    """What a training run has read, as a set of hashes: its rows, and of dense rows all that stands before an answer.

    A dense row of ten letters asks ten questions, of which an evaluation asks one: it was seen if any training row
    begins with its letters.
    """

    def __init__(self, task: Task, *, seed: int, rows: int) -> None:
        found = [np.zeros(0, dtype=np.uint64)]
        for start in range(0, rows, BLOCK):
            block = task.rows(seed=seed, stream="train", start=start, count=min(BLOCK, rows - start))
            block = without_offset(block)
            found.append(prefix_hashes(block.input_ids)[_ends(block)])
        self._seen = np.unique(np.concatenate(found))

    def seen(self, rows: Rows) -> list[bool]:
        """Say for each row whether training has read the very same one, of a dense row up to its last answer."""
        rows = without_offset(rows)
        ends = _ends(rows)
        last = ends.shape[1] - 1 - ends[:, ::-1].argmax(axis=1)
        keys = prefix_hashes(rows.input_ids)[np.arange(len(rows)), last]
        return [bool(found) for found in np.isin(keys, self._seen)]


def _ends(rows: Rows) -> NDArray[np.bool_]:
    """Mark where a question ends that can be asked again: at the end of a row, or in dense rows before each answer."""
    answers = rows.labels != IGNORE
    dense = (answers & (rows.labels != rows.input_ids)).any(axis=1)
    before = np.pad(answers[:, 1:], ((0, 0), (0, 1)))
    at_end = np.arange(rows.labels.shape[1]) == rows.lengths[:, None] - 1
    return np.where(dense[:, None], before, at_end)
