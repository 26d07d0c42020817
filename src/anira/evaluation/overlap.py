"""Which evaluation items training has seen: at small knobs different random streams meet."""

import numpy as np

from anira.tasks import BLOCK, Rows, Task

LARGEST = 2_000_000
"""Training rows beyond which the question is not asked: it takes a pass over all of them."""


class Overlap:
    """The rows that a training run has read, as a set of hashes."""

    def __init__(self, task: Task, *, seed: int, rows: int) -> None:
        self._seen: set[int] = set()
        for start in range(0, rows, BLOCK):
            block = task.rows(seed=seed, stream="train", start=start, count=min(BLOCK, rows - start))
            self._seen.update(_hashes(block))

    def seen(self, rows: Rows) -> list[bool]:
        """Say for each row whether training has read the very same one."""
        return [value in self._seen for value in _hashes(rows)]


def _hashes(rows: Rows) -> list[int]:
    return [
        hash(row[:length].tobytes()) for row, length in zip(rows.input_ids.astype(np.int32), rows.lengths, strict=True)
    ]
