"""The tokens of a call as a flat list: what the active-only execution works on."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from anira.models.backbone import Rope
from anira.models.host import Flags, Numbers, on_device


class FlatList:
    """The tokens of a call that are not padding, as a flat list ordered by row and column, and back into rows."""

    def __init__(self, shape: tuple[int, int], valid: Flags | None, device: torch.device) -> None:
        self.shape = shape
        # Without padding, packing and spreading are views.
        self._numbers = None if valid is None or valid.all() else np.flatnonzero(valid)
        self._index = None if self._numbers is None else on_device(self._numbers, device)

    def places(self, past: int) -> tuple[Numbers, Numbers]:
        """Return row and column of every token; columns of this call follow `past` earlier ones."""
        batch, time = self.shape
        numbers = np.arange(batch * time) if self._numbers is None else self._numbers
        return numbers // time, numbers % time + past

    def pack(self, values: Tensor) -> Tensor:
        """Return (tokens, ...) from (batch, time, ...)."""
        flat = values.expand(*self.shape, *values.shape[2:]).flatten(0, 1)
        return flat if self._index is None else flat.index_select(0, self._index)

    def spread(self, values: Tensor, into: Tensor | None = None) -> Tensor:
        """Return (batch, time, ...) from (tokens, ...); padding gets the values of `into`, or 0."""
        shape = (*self.shape, *values.shape[1:])
        if self._index is None:
            return values.view(shape)
        rows = values.new_zeros(shape) if into is None else into.clone()
        return rows.flatten(0, 1).index_copy_(0, self._index, values).view(shape)


@dataclass(frozen=True)
class Tokens:
    """A flat list of tokens, ordered by row and column, with their rotary phases and their prelude's output."""

    rows: Numbers
    columns: Numbers
    rope: Rope
    h0: Float[Tensor, "tokens dim"]

    def take(self, which: Numbers) -> "Tokens":
        """Return some of the tokens."""
        index = on_device(which, self.h0.device)
        cos, sin = self.rope
        return Tokens(self.rows[which], self.columns[which], (cos[index], sin[index]), self.h0[index])
