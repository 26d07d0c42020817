"""Attention of the tokens of one tick: each sees its own row up to its own column, in the iteration that it is in."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from anira.models.attention import FlatAttention, Plan
from anira.models.host import Numbers
from anira.models.slots import SlotStore


@dataclass(frozen=True)
class Places:
    """Where tokens stand: row, column and iteration of each; those of one row and iteration are neighbours."""

    rows: Numbers
    columns: Numbers
    depths: Numbers

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, index: Any) -> "Places":
        """Return some of them."""
        return Places(self.rows[index], self.columns[index], self.depths[index])

    @staticmethod
    def join(parts: Sequence["Places"]) -> "Places":
        """Return all of them, one part after the other."""
        return Places(
            *(np.concatenate([getattr(one, name) for one in parts]) for name in ("rows", "columns", "depths"))
        )

    def lines(self) -> Numbers:
        """Return where a line begins: the tokens of one row in one iteration."""
        new = (np.diff(self.rows, prepend=-1) != 0) | (np.diff(self.depths, prepend=-1) != 0)
        return np.flatnonzero(new)


def plan_attention(
    store: SlotStore, places: Places, slots: Numbers | None, device: torch.device
) -> tuple[Plan, Numbers]:
    """Return how tokens attend, and the order in which they must come: lines of one token first, then the others.

    Without slots their keys and values go nowhere: those of the first iteration are seen.
    """
    starts = places.lines()
    alone = starts[np.diff(starts, append=len(places)) == 1]
    rest = np.setdiff1d(np.arange(len(places)), alone)
    parts = [part for part in (alone, rest) if len(part)]
    plans = []
    for part in parts:
        own = places.take(part)
        starts = own.lines()
        plan = FlatAttention(store, own.rows, own.columns, device, starts)
        plan.begin(own.depths[starts], None if slots is None else slots[part])
        plans.append((len(part), plan))
    return (plans[0][1] if len(plans) == 1 else JointAttention(plans)), np.concatenate(parts)


class JointAttention:
    """Several plans for the parts of one list of tokens."""

    def __init__(self, plans: Sequence[tuple[int, FlatAttention]]) -> None:
        self._sizes = [size for size, _ in plans]
        self._plans = [plan for _, plan in plans]

    def attend(self, module: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, **options: Any) -> Tensor:
        """Let each part attend by itself."""
        parts = zip(self._plans, *(tensor.split(self._sizes, dim=2) for tensor in (q, k, v)), strict=True)
        return torch.cat([plan.attend(module, *own, mask, **options) for plan, *own in parts], dim=1)
