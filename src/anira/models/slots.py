"""Key-value slots of some layers, and the host's table of which slot stands for a token in each iteration.

New tokens have their slots in a pool, in any order. Once a row has some dozens of them they are settled: moved to
memory of the row's own, where what an iteration sees is contiguous (`settled.py`). So a step copies the keys of few
recent tokens, and never the whole context.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any, ClassVar, NamedTuple, ParamSpec, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from anira.models.host import Flags, Numbers, on_device
from anira.models.settled import Settled, kinds_of

P = ParamSpec("P")
T = TypeVar("T")

KeyValues = tuple[Float[Tensor, "lines heads columns head"], Float[Tensor, "lines heads columns head"]]


class Look(NamedTuple):
    """What an iteration sees of some rows."""

    visible: Flags
    """Which recent columns (lines, columns)."""
    key_values: Callable[[int], KeyValues]
    """Their keys and values in a layer."""
    settled: list[tuple[Settled, list[tuple[int, int]]] | None]
    """Of each line, settled slots and the runs of them that are seen."""


def outlives_inference_mode(make: Callable[P, T]) -> Callable[P, T]:
    """Make what is kept between calls of ordinary tensors: those of inference mode can never be written to outside."""

    @wraps(make)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        with torch.inference_mode(False):
            return make(*args, **kwargs)

    return wrapped


class SlotStore:
    """Slots of some layers for rows of tokens; rows are those of a batch, or requests that come and go.

    Two tokens with depths 1 and 3, of a model with max_depth 3 and freeze = "state", own slots 0, 3 and 1, 2, 4:
    token 0 its input state and its exit state, token 1 its three input states. (A token that runs to the end needs no
    slot for its last state: nothing reads it.) The table, one row an iteration, is then [[0, 1], [3, 2], [3, 4]].

    >>> store = SlotStore(num_layers=1, max_depth=2, num_rows=3)
    >>> store.allocate(1, np.array([0, 2]), np.array([0, 0]), onwards=True).tolist()
    [0, 1]
    >>> store.used, store.release(0), store.used
    (2, None, 1)

    With `overwrite` a token has one slot, in which each of its iterations replaces the one before: fewer slots, and
    later tokens see the last iteration in place of the one that they are in.
    """

    kept: ClassVar[bool] = True
    """Whether anything is read after the call."""
    settle_after: ClassVar[int] = 128
    """Columns that each of several rows may have before they are settled; a lone row may have four times as many.

    Settled tokens spare a step the copy of their keys, and cost it two more calls of attention per iteration.
    """

    def __init__(self, num_layers: int, max_depth: int, num_rows: int = 0, *, overwrite: bool = False) -> None:
        self.max_depth, self.overwrite = max_depth, overwrite
        self.pools: list[Tensor | None] = [None] * num_layers
        self.table: Numbers = np.full((max_depth, num_rows, 0), -1, dtype=np.int64)
        """Which slot stands for a recent token in each iteration; -1 is none."""
        self.first: Numbers = np.zeros(num_rows, dtype=np.int64)
        """The first recent column of each row: those before it are settled."""
        self.settled: list[Settled | None] = [None] * num_rows
        self._free: Numbers = np.zeros(0, dtype=np.int64)
        self._size = 0
        self._settles = True
        self._shared = False
        """Whether several rows may have a slot in common."""

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return len(self.first)

    @property
    def used(self) -> int:
        """Slots that stand for a token."""
        own = {id(one): len(one) for one in self.settled if one is not None}
        return self._size - len(self._free) + sum(own.values())

    def add_rows(self, count: int) -> None:
        """Begin with so many rows."""
        self.table = np.full((self.max_depth, count, 0), -1, dtype=np.int64)
        self.first, self.settled = np.zeros(count, dtype=np.int64), [None] * count

    def deepen(self, max_depth: int) -> None:
        """Add iterations: in them, tokens so far are seen as in the last one."""
        if max_depth > self.max_depth:
            more = np.repeat(self.table[-1:], max_depth - self.max_depth, axis=0)
            self.table, self.max_depth = np.concatenate([self.table, more]), max_depth

    def allocate(self, depth: int | Numbers, rows: Numbers, columns: Numbers, *, onwards: bool) -> Numbers:
        """Give each token a new slot for iteration `depth`, and for the later ones too if `onwards`.

        An array of depths gives each token an iteration of its own to start from.
        """
        place = columns - self.first[rows]
        self._make_room(int(place.max(initial=-1)) + 1)
        slots = self._own(rows, place) if self.overwrite else self._take(len(rows))
        if isinstance(depth, int):
            self.table[depth - 1 : self.max_depth if onwards else depth, rows, place] = slots
            return slots
        iteration = np.arange(1, self.max_depth + 1)[:, None]
        mine = iteration >= depth if onwards else iteration == depth
        self.table[:, rows, place] = np.where(mine, slots, self.table[:, rows, place])
        return slots

    def put(
        self, layer: int, slots: Int[Tensor, " tokens"], keys: Float[Tensor, "tokens heads head"], values: Tensor
    ) -> None:
        """Write keys and values of one layer into slots."""
        pool = self.pools[layer]
        if pool is None or len(pool) < self._size:
            pool = self._grow(layer, keys)
        pool[slots, 0] = keys
        pool[slots, 1] = values

    def look(self, depth: int | Numbers, rows: Numbers, ends: Numbers) -> Look:
        """Return what lines see in an iteration, or each in its own: the columns of a row before an end."""
        width = int((ends - self.first[rows]).max(initial=0))
        slots = self.table[depth - 1, rows, :width]
        blocks = [self.settled[row] for row in rows.tolist()]
        depths = [depth] * len(rows) if isinstance(depth, int) else depth.tolist()
        settled = [None if one is None else (one, one.seen(d)) for one, d in zip(blocks, depths, strict=True)]
        return Look(slots >= 0, partial(self._gather, np.maximum(slots, 0)), settled)

    def _gather(self, slots: Numbers, layer: int) -> KeyValues:
        pool = self.pools[layer]
        assert pool is not None
        both = pool.index_select(0, on_device(slots.reshape(-1), pool.device)).view(*slots.shape, *pool.shape[1:])
        return both[:, :, 0].transpose(1, 2), both[:, :, 1].transpose(1, 2)

    @outlives_inference_mode
    def settle(self, ends: Numbers) -> None:
        """Settle the columns of rows before these, where they are many enough: nobody to come is before them."""
        if not self._settles or all(pool is None for pool in self.pools):
            return
        waiting = np.flatnonzero(ends - self.first >= self.settle_after * (4 if self.num_rows == 1 else 1))
        if not len(waiting):
            return
        same: dict[Any, Settled] = {}  # rows that are copies of each other go on sharing
        given_back = [np.zeros(0, dtype=np.int64)]
        try:
            for row in waiting.tolist():
                count = ends[row] - self.first[row]
                part = self.table[:, row, :count]
                found = kinds_of(part)
                if found is None:
                    self._settles = False
                    break
                key = (id(self.settled[row]), part.tobytes())
                if key not in same:
                    same[key] = self._settled(row, *found)
                self.settled[row] = same[key]
                self.table[:, row] = np.pad(self.table[:, row, count:], ((0, 0), (0, count)), constant_values=-1)
                self.first[row] += count
                given_back.append(found[0])
        finally:  # an error half-way leaves the rows before it settled
            self._give_back(np.concatenate(given_back))
        self._shrink()

    def _settled(self, row: int, slots: Numbers, kinds: Numbers, columns: Numbers) -> Settled:
        picked = [None if p is None else p.index_select(0, on_device(slots, p.device)) for p in self.pools]
        layers = [None if one is None else one.permute(1, 2, 0, 3).contiguous() for one in picked]
        fresh, before = Settled(layers, kinds, columns + self.first[row]), self.settled[row]
        return fresh if before is None else before.join(fresh)

    def release(self, row: int) -> None:
        """Take a row's slots back."""
        mine = np.unique(self.table[:, row])
        self.table[:, row] = -1
        self.first[row], self.settled[row] = 0, None
        self._give_back(mine[mine >= 0])

    def select(self, rows: Numbers) -> None:
        """Keep these rows, in this order; a row may be taken several times and then shares its slots."""
        before, self._shared = self.table, True
        self.table, self.first = self.table[:, rows], self.first[rows]
        self.settled = [self.settled[row] for row in rows]
        self._collect(before)

    @outlives_inference_mode
    def crop(self, end: int) -> None:
        """Keep the columns before `end`."""
        before = self.table.copy()
        self.table[:, np.arange(self.table.shape[2]) >= end - self.first[:, None]] = -1
        cut: dict[int, Settled] = {}
        for row in np.flatnonzero(self.first > end):
            block = self.settled[row]
            assert block is not None
            self.settled[row] = cut.setdefault(id(block), cut.get(id(block)) or block.before(end))
            self.first[row] = end
        self._collect(before)

    @contextmanager
    def unchanged_on_error(self) -> Iterator[None]:
        """Take back what a call has added if it does not come to its end."""
        before = dict(vars(self)) | {
            "table": self.table.copy(),
            "first": self.first.copy(),
            "settled": self.settled.copy(),
        }
        try:
            yield
        except BaseException:
            vars(self).update(before)
            raise

    def tensors(self) -> Iterator[Tensor]:
        """Yield every tensor held."""
        yield from (pool for pool in self.pools if pool is not None)
        for block in {id(one): one for one in self.settled if one is not None}.values():
            yield from (layer for layer in block.layers if layer is not None)

    def slot_nbytes(self) -> int:
        """Return the bytes of one slot in all layers."""
        pooled = sum(pool[0].nbytes for pool in self.pools if pool is not None)
        settled = sum(tensor.nbytes for tensor in self.tensors()) // max(1, self.used)
        return pooled or settled

    def _own(self, rows: Numbers, place: Numbers) -> Numbers:
        """Return the slots that tokens have, and new ones for those that have none."""
        slots: Numbers = self.table[:, rows, place].max(0)
        new = slots < 0
        slots[new] = self._take(int(new.sum()))
        return slots

    def _take(self, count: int) -> Numbers:
        if len(self._free) < count:
            more = max(count - len(self._free), self._size // 2)  # growing by half makes its copies cheap
            self._free = np.concatenate([np.arange(self._size + more - 1, self._size - 1, -1), self._free])
            self._size += more
        left = len(self._free) - count
        taken, self._free = self._free[left:][::-1].copy(), self._free[:left]
        return taken

    def _give_back(self, slots: Numbers) -> None:
        """Free slots, but for those that some row still has."""
        if self._shared:
            slots = np.setdiff1d(slots, self.table)
        self._free = np.concatenate([self._free, slots])

    def _collect(self, before: Numbers) -> None:
        """Free the slots of an earlier table that no row has any more."""
        self._free = np.concatenate([self._free, np.setdiff1d(before[before >= 0], self.table)])
        self._shrink()

    def _shrink(self) -> None:
        """Give memory of the pools back when most of it has become free."""
        used = self._size - len(self._free)
        if self._size < 4 * used + 64:
            return
        kept = np.unique(self.table[self.table >= 0])
        # First what may fail for want of memory: the books must not be ahead of the pools.
        pools = [None if p is None else p.index_select(0, on_device(kept, p.device)) for p in self.pools]
        self.table, self.pools = np.where(self.table >= 0, np.searchsorted(kept, self.table), -1), pools
        self._free, self._size = np.zeros(0, dtype=np.int64), len(kept)

    def _make_room(self, columns: int) -> None:
        have = self.table.shape[2]
        if columns > have:
            more = max(columns - have, have // 2, 16)
            self.table = np.pad(self.table, ((0, 0), (0, 0), (0, more)), constant_values=-1)

    @outlives_inference_mode
    def _grow(self, layer: int, like: Float[Tensor, "tokens heads head"]) -> Tensor:
        grown = like.new_zeros((self._size, 2, *like.shape[1:]))
        if (pool := self.pools[layer]) is not None:
            grown[: len(pool)] = pool
        self.pools[layer] = grown
        return grown
