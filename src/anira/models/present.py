"""Keys and values of the iteration in progress, and of no other: for a call that nobody goes on from.

A cache keeps what every token had in every iteration, because tokens to come read it. Where there are none to come,
one place per token is enough. A token that runs overwrites it, one that has halted leaves there what the others read.
"""

from functools import partial
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from anira.models.cache import Look


class PresentStore:
    """One place per token in each core layer; has what `SlotStore` has for those who run the core.

    >>> store = PresentStore(num_layers=1, max_depth=3, batch=2, num_columns=4, full=True)
    >>> store.allocate(1, torch.tensor([0, 1]), torch.tensor([3, 2]), onwards=True)
    tensor([3, 6])
    """

    kept: ClassVar[bool] = False
    """Whether anything is read after the call."""

    def __init__(self, num_layers: int, max_depth: int, batch: int, num_columns: int, *, full: bool) -> None:
        self.max_depth, self.batch, self.num_columns = max_depth, batch, num_columns
        self.full = full
        """Whether no token sees a column that is padding, be it that there is none or that it comes later."""
        self.skips = False
        self._pools: list[tuple[Tensor, Tensor] | None] = [None] * num_layers
        self._until: Int[Tensor, "batch columns"] | None = None

    @property
    def dense(self) -> bool:
        """Whether every column that a token may see can be seen in every iteration, so that no mask is needed."""
        return self.full and not self.skips

    def allocate(
        self, depth: int, rows: Int[Tensor, " tokens"], columns: Int[Tensor, " tokens"], *, onwards: bool
    ) -> Int[Tensor, " tokens"]:
        """Return the places of tokens that write in iteration `depth`; they are seen in it, and later if `onwards`."""
        if self._until is None:
            self._until = torch.zeros((self.batch, self.num_columns), dtype=torch.long, device=rows.device)
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

    def look(self, depth: int, rows: Int[Tensor, " rows"] | None) -> Look:
        """Return which columns of these rows, or of all, are seen in an iteration, and what gives keys and values."""
        assert self._until is not None
        visible: Bool[Tensor, "rows columns"] | None = None
        if not self.dense:
            visible = (self._until if rows is None else self._until[rows]) >= depth
        return visible, partial(self._rows, rows)

    def _rows(self, rows: Int[Tensor, " rows"] | None, layer: int) -> tuple[Tensor, Tensor]:
        pools = self._pools[layer]
        assert pools is not None
        laid = [pool.unflatten(0, (self.batch, self.num_columns)) for pool in pools]
        keys, values = (pool if rows is None else pool.index_select(0, rows) for pool in laid)
        return keys.transpose(1, 2), values.transpose(1, 2)
