"""Keys and values of rows that come and go: the cache's table, with slots that are given back.

As in `SlotStore`, a table says which slot stands for a token in each iteration. Here a row is a request. Which slots
are free is known to the host alone, so that neither giving nor taking them waits for the device.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

Numbers = NDArray[np.int64]


class RowStore:
    """Slots of some layers, for at most so many rows at a time.

    >>> store = RowStore(num_layers=1, max_depth=2, num_rows=3, device=torch.device("cpu"))
    >>> store.allocate(np.array([1, 1]), np.array([0, 2]), np.array([0, 0]), onwards=True).tolist()
    [0, 1]
    >>> store.used, store.release(0), store.used
    (2, None, 1)
    """

    def __init__(self, num_layers: int, max_depth: int, num_rows: int, device: torch.device) -> None:
        self.max_depth = max_depth
        self.table = torch.full((max_depth, num_rows, 64), -1, dtype=torch.int32, device=device)
        self.pools: list[Tensor | None] = [None] * num_layers
        self._free: list[int] = []
        self._size = 0
        self._owned: list[list[Numbers]] = [[] for _ in range(num_rows)]

    @property
    def used(self) -> int:
        """Slots that stand for a token."""
        return self._size - len(self._free)

    def allocate(self, depths: Numbers, rows: Numbers, columns: Numbers, *, onwards: bool) -> Int[Tensor, " tokens"]:
        """Give each token a slot for the iteration that it is in, and for the later ones too if `onwards`."""
        self._make_room(int(columns.max(initial=-1)) + 1)
        slots = self._take(len(rows))
        order = np.argsort(rows, kind="stable")
        bounds = np.flatnonzero(np.diff(rows[order])) + 1
        for part in np.split(order, bounds) if len(order) else ():
            self._owned[rows[part[0]]].append(slots[part])
        number, depth, row, column = (self.device_copy(one) for one in (slots, depths, rows, columns))
        iteration = torch.arange(1, self.max_depth + 1, device=number.device)[:, None]
        mine = iteration >= depth if onwards else iteration == depth
        place = (slice(None), row, column)
        self.table[place] = torch.where(mine, number.int(), self.table[place])
        return number

    def release(self, row: int) -> None:
        """Take a row's slots back."""
        for slots in self._owned[row]:
            self._free.extend(slots.tolist())
        self._owned[row].clear()
        self.table[:, row] = -1

    def put(
        self, layer: int, slots: Int[Tensor, " tokens"], keys: Float[Tensor, "tokens heads head"], values: Tensor
    ) -> None:
        """Write keys and values of one layer into slots."""
        pool = self.pools[layer]
        if pool is None or len(pool) < self._size:
            pool = self._grow(layer, keys)
        pool[slots, 0] = keys
        pool[slots, 1] = values

    def look(
        self, depths: Int[Tensor, " lines"], rows: Int[Tensor, " lines"], num_columns: int
    ) -> tuple[Bool[Tensor, "lines columns"], Callable[[int], tuple[Tensor, Tensor]]]:
        """Return which of the first columns some rows see in an iteration each, and their keys and values by layer."""
        slots = self.table[depths - 1, rows, :num_columns]
        return slots >= 0, partial(self._gather, slots.clamp(min=0))

    def device_copy(self, numbers: NDArray[np.generic]) -> Tensor:
        """Return numbers of the host where the table is."""
        return torch.from_numpy(numbers).to(self.table.device, non_blocking=True)

    def _gather(self, slots: Int[Tensor, "lines columns"], layer: int) -> tuple[Tensor, Tensor]:
        pool = self.pools[layer]
        assert pool is not None
        both = pool.index_select(0, slots.reshape(-1)).view(*slots.shape, *pool.shape[1:])
        return both[:, :, 0].transpose(1, 2), both[:, :, 1].transpose(1, 2)

    def _take(self, count: int) -> Numbers:
        if len(self._free) < count:
            more = max(count - len(self._free), self._size // 2)  # growing by half makes its copies cheap
            self._free[:0] = range(self._size + more - 1, self._size - 1, -1)
            self._size += more
        taken = [self._free.pop() for _ in range(count)]
        return np.array(taken, dtype=np.int64)

    def _make_room(self, num_columns: int) -> None:
        have = self.table.shape[2]
        if num_columns > have:
            more = max(num_columns - have, have // 2)
            self.table = torch.nn.functional.pad(self.table, (0, more), value=-1)

    def _grow(self, layer: int, like: Float[Tensor, "tokens heads head"]) -> Tensor:
        grown = like.new_zeros((self._size, 2, *like.shape[1:]))
        if (pool := self.pools[layer]) is not None:
            grown[: len(pool)] = pool
        self.pools[layer] = grown
        return grown
