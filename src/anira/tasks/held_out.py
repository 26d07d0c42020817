"""Any task with some of its instances kept from training, so that answers to them cannot be remembered.

Where there are few instances, training reads all of them many times, and right answers show nothing. Which instances
are held out depends on their question alone: it is the same in every run, whatever its seed, and evaluation marks them.
"""

import numpy as np
from numpy.typing import NDArray

from anira.config import UserError
from anira.tasks.base import IGNORE, BlockTask, Ints, Rows, addressed_generator
from anira.tasks.wrapped import WrappedTask

_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, and without any pattern in its bits
_HALF = np.uint64(32)
_DRAWS = 200  # of other instances in place of held-out ones; a share of .9 is left over once in 10^9


class HeldOutTask(WrappedTask):
    """A task whose training rows leave out a share of all instances; rows of other streams have them.

    >>> from anira.tasks import make_task
    >>> task = HeldOutTask(make_task("mano"), 0.25)
    >>> int(task.held_out(task.rows(seed=0, stream="train", start=0, count=1000)).sum())
    0
    >>> int(task.held_out(task.rows(seed=0, stream="eval", start=0, count=1000)).sum())
    272
    """

    def __init__(self, inner: BlockTask, share: float) -> None:
        super().__init__(inner)
        self.share = share
        row = inner.rows(seed=0, stream="train", start=0, count=1)
        if row.is_dense(0) or len(set(row.input_ids[row.labels == IGNORE])) < 2:  # nothing but <bos>
            raise UserError(f"held_out needs a question before its answer: rows of {inner.name!r} have none here")

    def wrap(self, part: BlockTask) -> "HeldOutTask":
        """Return another task with the same share held out."""
        return HeldOutTask(part, self.share)

    def held_out(self, rows: Rows) -> NDArray[np.bool_]:
        """Say which rows training never reads: by a hash of their questions."""
        questions = np.where(rows.labels == IGNORE, rows.input_ids, 0)
        found = prefix_hashes(questions)[np.arange(len(rows)), rows.lengths - 1]
        held: NDArray[np.bool_] = (found >> _HALF) < np.uint64(self.share * 2**32)
        return held

    def _block(self, seed: int, stream: str, knob: int | None, block: int) -> Rows:
        rows = self.inner._block(seed, stream, knob, block)
        if stream != "train":
            return rows
        first = block * self.block
        for draw in range(_DRAWS):
            held = np.flatnonzero(self.held_out(rows))
            if not len(held):
                return rows
            rng = addressed_generator(self.name, "in place of held-out", draw, seed, knob, block)
            index = np.arange(len(rows))
            index[held] = len(rows) + np.arange(len(held))
            rows = Rows.concat([rows, self.inner.generate(rng, first + held, knob)]).take(index)
        raise UserError(f"held_out {self.share} leaves too little to train on: task {self.name!r} has few instances")


def prefix_hashes(ids: Ints) -> NDArray[np.uint64]:
    """Return a hash of the tokens up to each position (rows, positions)."""
    hashes = ids.T.astype(np.uint64, order="C") + _FACTOR  # by position, which is read in one piece
    state = np.zeros(len(ids), dtype=np.uint64)
    for here in hashes:
        state = (state ^ here) * _FACTOR
        state ^= state >> _HALF
        here[:] = state
    return hashes.T
