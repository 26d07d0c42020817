"""Any task with its instances moved: a row begins with some more <bos>, so that positions do not tell the knob.

A model knows where it is by how far the first token lies back. Where the hardest question of a task always stands
furthest to the right, depth that follows the position cannot be told from depth that follows the work. Moving rows by a
random number of tokens tells them apart. (Other numbers for positions would not do: rotary embeddings see differences.)

    offset 0   <bos> + 5 3 <ans> 8 <eos>
    offset 2   <bos> <bos> <bos> + 5 3 <ans> 8 <eos>
"""

import numpy as np

from anira.tasks.base import IGNORE, BlockTask, Floats, Ints, Rows, addressed_generator
from anira.tasks.wrapped import WrappedTask


class OffsetTask(WrappedTask):
    """A task whose rows begin with up to `most` more <bos>, each number as often as any other."""

    def __init__(self, inner: BlockTask, most: int) -> None:
        super().__init__(inner)
        self.most = most

    def wrap(self, part: BlockTask) -> "OffsetTask":
        """Return another task, moved alike."""
        return OffsetTask(part, self.most)

    def plain(self, rows: Rows) -> Rows:
        """Return rows as the task itself has them."""
        return without_offset(rows)

    def _block(self, seed: int, stream: str, knob: int | None, block: int) -> Rows:
        rows = self.inner._block(seed, stream, knob, block)
        draw = addressed_generator("offset", seed, stream, knob, block)
        return moved(rows, draw.integers(0, self.most + 1, len(rows)), self.vocab.id("<bos>"))

    def probes(self, rows: Rows, i: int) -> dict[str, Floats]:
        """Return the probes of the task itself where its tokens are now; they are undefined at the <bos> before it."""
        found = super().probes(rows, i)
        before = int(rows.lengths[i]) - len(next(iter(found.values()), np.zeros(int(rows.lengths[i]))))
        return {
            name: np.concatenate([np.full((before, *values.shape[1:]), np.nan), values])
            for name, values in found.items()
        }


def moved(rows: Rows, offsets: Ints, bos: int) -> Rows:
    """Return rows that begin with so many more <bos> each."""
    width = rows.input_ids.shape[1] + int(offsets.max(initial=0))
    source = np.arange(width) - offsets[:, None]
    there = (source >= 0) & (source < rows.lengths[:, None])
    index = np.clip(source, 0, rows.input_ids.shape[1] - 1)
    ids = np.where(there, np.take_along_axis(rows.input_ids, index, 1), 0)
    ids = np.where(source < 0, bos, ids).astype(rows.input_ids.dtype)
    labels = np.where(there, np.take_along_axis(rows.labels, index, 1), IGNORE).astype(rows.labels.dtype)
    return Rows(ids, labels, rows.lengths + offsets.astype(rows.lengths.dtype), rows.knob)


def without_offset(rows: Rows) -> Rows:
    """Return rows as the task itself has them: a first token that comes again at once is left out.

    >>> rows = Rows(np.array([[1, 7, 2]]), np.array([[-100, -100, 2]]), np.array([3]), np.array([1]))
    >>> without_offset(moved(rows, np.array([2]), bos=1)).input_ids
    array([[1, 7, 2]])
    """
    if not (rows.input_ids[:, 0] == rows.input_ids[:, 1]).any():
        return rows
    again = np.cumprod(rows.input_ids[:, 1:] == rows.input_ids[:, :1], axis=1).sum(axis=1)
    lengths = rows.lengths - again
    index = np.arange(int(lengths.max())) + again[:, None]
    there = index < rows.lengths[:, None]
    index = np.minimum(index, rows.input_ids.shape[1] - 1)
    ids = np.where(there, np.take_along_axis(rows.input_ids, index, 1), 0)
    labels = np.where(there, np.take_along_axis(rows.labels, index, 1), IGNORE)
    return Rows(ids, labels, lengths, rows.knob)
