"""Attention of the tokens of one tick: each sees its own row up to its own column, in the iteration that it is in."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from anira.inference.engine.store import Numbers, RowStore
from anira.models.attention import FlatAttention, Plan


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


def plan_attention(store: RowStore, places: Places, slots: Tensor | None) -> tuple[Plan, Numbers]:
    """Return how tokens attend, and the order in which they must come: lines of one token first, then the others.

    Without slots their keys and values go nowhere: those of the first iteration are seen.
    """
    starts = places.lines()
    sizes = np.diff(starts, append=len(places))
    alone = starts[sizes == 1]
    rest = np.setdiff1d(np.arange(len(places)), alone)
    parts = [part for part in (alone, rest) if len(part)]
    order = np.concatenate(parts)
    picked = None if slots is None else slots[store.device_copy(order)]
    plans, first = [], 0
    for part in parts:
        own = None if picked is None else picked[first : first + len(part)]
        plans.append((len(part), LineAttention(store, places.take(part), own)))
        first += len(part)
    return (plans[0][1] if len(plans) == 1 else JointAttention(plans)), order


class LineAttention(FlatAttention):
    """Attention of lines, each a row in one iteration with one or more tokens."""

    def __init__(self, store: RowStore, places: Places, slots: Tensor | None) -> None:
        starts = places.lines()
        sizes = np.diff(starts, append=len(places))
        line = np.repeat(np.arange(len(starts)), sizes)
        number = np.arange(len(places)) - starts[line]
        self.row_store, self.slots, self.fresh = store, slots, False
        self.most = int(sizes.max())
        self.single = self.most == 1
        self.row_ids = store.device_copy(places.rows[starts])
        self.place = (store.device_copy(line), store.device_copy(number))
        columns = int(places.columns.max()) + 1
        own = np.full((len(starts), self.most), columns, dtype=np.int64)  # spare queries see everything
        own[line, number] = places.columns
        visible, self.key_values = store.look(store.device_copy(places.depths[starts]), self.row_ids, columns)
        earlier = torch.arange(columns, device=visible.device) <= store.device_copy(own)[:, None, :, None]
        self.mask = earlier & visible[:, None, None, :]

    def attend(self, module: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, **options: Any) -> Tensor:
        """Put the keys and values of these tokens into the store, and attend over it."""
        q, k, v = (tensor[0].transpose(0, 1) for tensor in (q, k, v))
        if self.slots is not None:
            self.row_store.put(module.layer_idx, self.slots, k, v)
        return self._attend(module, q, k, v).unsqueeze(0)


class JointAttention:
    """Several plans for the parts of one list of tokens."""

    def __init__(self, plans: Sequence[tuple[int, LineAttention]]) -> None:
        self._sizes = [size for size, _ in plans]
        self._plans = [plan for _, plan in plans]

    def attend(self, module: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, **options: Any) -> Tensor:
        """Let each part attend by itself."""
        parts = zip(self._plans, *(tensor.split(self._sizes, dim=2) for tensor in (q, k, v)), strict=True)
        return torch.cat([plan.attend(module, *own, mask, **options) for plan, *own in parts], dim=1)
