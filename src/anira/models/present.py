"""Keys and values of the iteration in progress, and of no other: for a call that nobody goes on from.

A cache keeps what every token had in every iteration, because tokens to come read it. Where there are none to come,
one place per token is enough. A token that runs overwrites it, one that has halted leaves there what the others read.
"""

from functools import partial
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from anira.models.host import Numbers, on_device
from anira.models.slots import KeyValues, Look


class PresentStore:
    """One place per token in each core layer; has what `SlotStore` has for those who run the core.

    >>> store = PresentStore(num_layers=1, max_depth=3, batch=2, num_columns=4)
    >>> store.allocate(1, np.array([0, 1]), np.array([3, 2]), onwards=True).tolist()
    [3, 6]
    """

    kept: ClassVar[bool] = False
    """Whether anything is read after the call."""
    overwrite: ClassVar[bool] = False
    """Whether later calls see a token's last iteration alone; here there are none."""

    def __init__(self, num_layers: int, max_depth: int, batch: int, num_columns: int) -> None:
        self.max_depth, self.batch, self.num_columns = max_depth, batch, num_columns
        self.first: Numbers = np.zeros(batch, dtype=np.int64)
        self._pools: list[tuple[Tensor, Tensor] | None] = [None] * num_layers
        self._until: Numbers = np.zeros((batch, num_columns), dtype=np.int64)

    def allocate(self, depth: int, rows: Numbers, columns: Numbers, *, onwards: bool) -> Numbers:
        """Return the places of tokens that write in iteration `depth`; they are seen in it, and later if `onwards`."""
        self._until[rows, columns] = self.max_depth if onwards else depth
        return rows * self.num_columns + columns

    def put(
        self, layer: int, places: Int[Tensor, " tokens"], keys: Float[Tensor, "tokens heads head"], values: Tensor
    ) -> None:
        """Write keys and values of one core layer."""
        size, pools = self.batch * self.num_columns, self._pools[layer]
        if len(places) == size:
            self._pools[layer] = (keys, values)  # of all tokens, in their order
            return
        if pools is None:
            pools = (keys.new_zeros(size, *keys.shape[1:]), values.new_zeros(size, *values.shape[1:]))
            self._pools[layer] = pools
        for pool, fresh in zip(pools, (keys, values), strict=True):
            pool.index_copy_(0, places, fresh)

    def look(self, depth: int | Numbers, rows: Numbers, ends: Numbers) -> Look:
        """Return what rows see in an iteration: columns before an end, and what gives keys and values."""
        width = int(ends.max())
        return Look(self._until[rows, :width] >= depth, partial(self._rows, rows, width), [None] * len(rows))

    def _rows(self, rows: Numbers, width: int, layer: int) -> KeyValues:
        pools = self._pools[layer]
        assert pools is not None
        laid = [pool.unflatten(0, (self.batch, self.num_columns))[:, :width] for pool in pools]
        if len(rows) < self.batch:
            laid = [pool.index_select(0, on_device(rows, pool.device)) for pool in laid]
        return laid[0].transpose(1, 2), laid[1].transpose(1, 2)
