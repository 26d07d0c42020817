"""Which evaluation items training has seen: at small knobs different random streams meet."""

import numpy as np

from anira.tasks import BLOCK, IGNORE, Rows, Task
from anira.tasks.base import Ints
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
        self._seen = np.sort(np.concatenate(found))

    def seen(self, rows: Rows) -> list[bool]:
        """Say for each row whether training has read the very same one, of a dense row up to its last answer."""
        rows = without_offset(rows)
        row, position = _ends(rows)
        last = np.diff(row, append=len(rows)) > 0
        keys = prefix_hashes(rows.input_ids)[row[last], position[last]]
        found = np.searchsorted(self._seen, keys, side="right") > np.searchsorted(self._seen, keys)
        return [bool(value) for value in found]


def _ends(rows: Rows) -> tuple[Ints, Ints]:
    """Return where questions end that can be asked again, as rows and positions, in order.

    That is the end of a row, or in dense rows the place before each answer.
    """
    answers = rows.labels != IGNORE
    if (answers & (rows.labels != rows.input_ids)).any():  # dense; a row alone may be so without showing it
        row, position = np.nonzero(answers[:, 1:])
        return row, position
    return np.arange(len(rows)), rows.lengths - 1
