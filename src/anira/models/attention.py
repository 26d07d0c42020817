"""The attention of all layers, registered with transformers: stock layers call it, whichever way the core is run.

A layer may be handed a `plan` that says whose keys and values a token sees: `KeptKeyValues` and `FirstKeyValues` in the
parallel graph under freeze = "kv" and "first", `FlatAttention` where only the active tokens are computed, those of
`packing` where instances are laid end to end. It travels through the layer's own forward as a keyword argument, so no
layer is written a second time, its hooks fire, and gradient checkpointing (which takes caches away from layers) leaves
it alone. Without a plan this is transformers' SDPA.
"""

from typing import Any, Final, Protocol

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from anira.models.cache import SlotStore
from anira.models.present import PresentStore

NAME: Final = "anira"
"""What the configuration of a layer says in `_attn_implementation`."""


class Plan(Protocol):
    """Attention of one iteration of the core."""

    def attend(self, module: nn.Module, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, **options: Any) -> Tensor:
        """Return (batch, time, heads, head) from queries, keys and values that are (batch, heads, time, head)."""


def attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    plan: Plan | None = None,
    **options: Any,
) -> tuple[Tensor, None]:
    """Attend as the plan says, or plainly; the second value stands for the attention weights, which SDPA never has."""
    if plan is not None:
        return plan.attend(module, query, key, value, attention_mask, **options), None
    out, _ = sdpa_attention_forward(module, query, key, value, attention_mask, **options)
    return out, None


AttentionInterface.register(NAME, attend)


class KeptKeyValues:
    """freeze = "kv": a token that does not run keeps, layer by layer, the keys and values it computed last.

    One object per iteration, which leaves the earlier one as it was: a layer that is run again in the backward pass
    (gradient checkpointing) finds what it found the first time.
    """

    def __init__(
        self,
        run: Bool[Tensor, "batch time"],
        weight: Tensor | None,
        before: "KeptKeyValues | None",
        inner: Plan | None = None,
    ) -> None:
        self._run = run[:, None, :, None]
        self._weight = None if weight is None else weight[:, None, :, None]
        self._before = before
        self._inner = inner  # how to attend, with these keys and values
        self.key_values: dict[int, tuple[Tensor, Tensor]] = {}

    def attend(self, module: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, **options: Any) -> Tensor:
        """Attend over fresh keys and values of those who run, and kept ones of the others."""
        if self._before is not None:
            kept = self._before.key_values[module.layer_idx]
            k, v = self._merge(k, kept[0]), self._merge(v, kept[1])
        self.key_values[module.layer_idx] = (k, v)
        return attend(module, q, k, v, mask, plan=self._inner, **options)[0]

    def _merge(self, fresh: Tensor, kept: Tensor) -> Tensor:
        """Choose by `run`; with a straight-through weight, whose value is 0 or 1, also carry its gradient."""
        if self._weight is None:
            return torch.where(self._run, fresh, kept)
        return torch.lerp(kept, fresh, self._weight.to(fresh.dtype))


class FirstKeyValues:
    """freeze = "first": all iterations see the keys and values of the first, layer by layer."""

    def __init__(self, before: "FirstKeyValues | None", inner: Plan | None = None) -> None:
        self._before, self._inner = before, inner
        self.key_values: dict[int, tuple[Tensor, Tensor]] = {}

    def attend(self, module: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, **options: Any) -> Tensor:
        """Attend over the first iteration's keys and values, which are these in the first."""
        if self._before is not None:
            k, v = self._before.key_values[module.layer_idx]
        self.key_values[module.layer_idx] = (k, v)
        return attend(module, q, k, v, mask, plan=self._inner, **options)[0]


class FlatAttention:
    """Attention of a flat list of tokens over the store: each sees its own row, up to its own column.

    The list goes through the layer as one row, so that the linear maps spend nothing on padding; only the attention
    itself is laid out in rows.
    """

    def __init__(
        self,
        store: SlotStore | PresentStore,
        rows: Int[Tensor, " tokens"],
        columns: Int[Tensor, " tokens"],
        *,
        single: bool,
    ) -> None:
        self.store, self.columns, self.single = store, columns, single
        self.row_ids, self.most = rows, 1
        if not single:
            self.row_ids, row, count = torch.unique_consecutive(rows, return_inverse=True, return_counts=True)
            first = count.cumsum(0) - count
            self.place = (row, torch.arange(len(row), device=row.device) - first[row])
            self.most = int(count.max())
        self.all_rows = len(self.row_ids) == store.batch
        self.whole = store.dense and len(rows) == store.batch * store.num_columns
        self.slots: Any = None

    def begin(self, depth: int, slots: Any) -> None:
        """Note where the keys and values of iteration `depth` go (as the store says), and who sees whom in it.

        Without slots they go nowhere: those of the first iteration are seen.
        """
        self.slots = slots
        self.fresh = self.whole and slots is not None
        if not self.fresh:
            visible, self.key_values = self.store.look(depth, None if self.all_rows else self.row_ids)
            self.mask = self._mask(visible)

    def attend(self, module: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, **options: Any) -> Tensor:
        """Put the keys and values of this iteration into the store, and attend over it."""
        q, k, v = (tensor[0].transpose(0, 1) for tensor in (q, k, v))
        if self.slots is not None:
            self.store.put(module.layer_idx, self.slots, k, v)
        return self._attend(module, q, k, v).unsqueeze(0)

    def _attend(self, module: Any, q: Float[Tensor, "tokens heads head"], k: Tensor, v: Tensor) -> Tensor:
        settings = {"scale": module.scaling, "enable_gqa": module.num_key_value_groups > 1}
        if self.fresh:  # every token of every row, and no past: plain causal attention on what was just computed
            q, k, v = (t.reshape(len(self.row_ids), -1, *t.shape[1:]).transpose(1, 2) for t in (q, k, v))
            out = scaled_dot_product_attention(q, k, v, is_causal=True, **settings)
            return out.transpose(1, 2).flatten(0, 1)
        keys, values = self.key_values(module.layer_idx)
        out = scaled_dot_product_attention(self._lay_out(q), keys, values, attn_mask=self.mask, **settings)
        return out[:, :, 0] if self.single else out.transpose(1, 2)[self.place]

    def _lay_out(self, q: Float[Tensor, "tokens heads head"]) -> Float[Tensor, "rows heads most head"]:
        if self.single:
            return q.unsqueeze(2)
        laid = q.new_zeros((len(self.row_ids), self.most, *q.shape[1:]))
        laid[self.place] = q
        return laid.transpose(1, 2)

    def _mask(self, visible: Bool[Tensor, "rows columns"] | None) -> Bool[Tensor, "rows 1 most columns"] | None:
        if self.single:  # the query is the last column: it sees all that is there
            return None if visible is None else visible[:, None, None, :]
        columns = torch.arange(self.store.num_columns, device=self.columns.device)
        # Spare queries see everything.
        own = torch.full((len(self.row_ids), self.most), len(columns), device=self.columns.device)
        own[self.place] = self.columns
        earlier = columns <= own[:, None, :, None]
        return earlier if visible is None else earlier & visible[:, None, None, :]
