"""The attention of all layers, registered with transformers: stock layers call it, whichever way the core is run.

A layer may be handed a `plan` that says whose keys and values a token sees: `KeptKeyValues` and `FirstKeyValues` in the
parallel graph under freeze = "kv" and "first", `FlatAttention` where only the active tokens are computed, those of
`packing` where instances are laid end to end. It travels through the layer's own forward as a keyword argument, so no
layer is written a second time, its hooks fire, and gradient checkpointing (which takes caches away from layers) leaves
it alone. Without a plan this is transformers' SDPA.
"""

from collections.abc import Sequence
from typing import Any, Final, Protocol

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from anira.models.host import Flags, Numbers, on_device
from anira.models.present import PresentStore
from anira.models.settled import Settled
from anira.models.short import is_short, short_attention
from anira.models.slots import SlotStore

Part = tuple[Float[Tensor, "lines heads queries head"], Float[Tensor, "lines heads queries"]]
"""Attention over some keys, and the logarithm of the sum of their exponentials."""
Run = tuple[Settled, int, int]
"""Settled slots of a row, with start and end of those that are seen."""

_MASK_LIMIT: Final = 1 << 24
"""Entries of a mask: queries are cut into blocks, so that a long prompt needs none of rows x columns x columns."""

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
    itself is laid out in lines. A line is the tokens of one row, which are neighbours in the list; in `inference` lines
    may be in different iterations.
    """

    def __init__(
        self,
        store: SlotStore | PresentStore,
        rows: Numbers,
        columns: Numbers,
        device: torch.device,
        starts: Numbers | None = None,
    ) -> None:
        """`starts`: where in the list lines begin; None if each token is a line."""
        self.store, self.device, self.columns = store, device, columns
        self.slots: Tensor | None = None
        self.single = starts is None or len(starts) == len(rows)
        if starts is None or self.single:
            self.rows, self.ends, self.most = rows, columns + 1, 1
            self.whole = bool((columns == 0).all())
        else:
            self._lay_lines(rows, starts)
        self.recent = self.ends - store.first[self.rows]

    def _lay_lines(self, rows: Numbers, starts: Numbers) -> None:
        sizes = np.diff(starts, append=len(rows))
        self.rows, self.most = rows[starts], int(sizes.max())
        self.ends = self.columns[np.append(starts[1:], len(rows)) - 1] + 1
        # Lines of equally many tokens that are all there is in their rows: plain causal attention will do.
        whole = sizes.min() == self.most and bool((self.ends == self.most).all())
        self.whole = whole and bool((self.columns[starts] == 0).all())
        line = np.repeat(np.arange(len(starts)), sizes)
        self.number = (line, np.arange(len(rows)) - starts[line])
        self.place = tuple(on_device(one, self.device) for one in self.number)

    def begin(self, depth: int | Numbers, slots: Numbers | None) -> None:
        """Note where the keys and values of iteration `depth` go (as the store says), and who sees whom in it.

        Without slots they go nowhere: those of the first iteration are seen.
        """
        self.slots = None if slots is None else on_device(slots, self.device)
        self.fresh = self.whole and slots is not None
        if not self.fresh:
            look = self.store.look(depth, self.rows, self.ends)
            self.key_values = look.key_values
            self.visible = self._visible(look.visible)
            self.own = None if self.single else self._own_columns()
            self.earlier = EarlierTokens.of(look.settled)

    def attend(self, module: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, **options: Any) -> Tensor:
        """Put the keys and values of this iteration into the store, and attend over it."""
        q, k, v = (tensor[0].transpose(0, 1) for tensor in (q, k, v))
        if self.slots is not None:
            self.store.put(module.layer_idx, self.slots, k, v)
        return self._attend(module, q, k, v).unsqueeze(0)

    def _attend(self, module: Any, q: Float[Tensor, "tokens heads head"], k: Tensor, v: Tensor) -> Tensor:
        if self.fresh:
            settings = {"scale": module.scaling, "enable_gqa": module.num_key_value_groups > 1}
            q, k, v = (t.reshape(len(self.rows), -1, *t.shape[1:]).transpose(1, 2) for t in (q, k, v))
            if not self.single and is_short(q, k):
                out = short_attention(q, k, v, None, module.scaling)
            else:
                out = scaled_dot_product_attention(q, k, v, is_causal=True, **settings)
            return out.transpose(1, 2).flatten(0, 1)
        keys, values = self.key_values(module.layer_idx)
        laid = q.unsqueeze(2) if self.single else self._lay_out(q)
        block = max(1, _MASK_LIMIT // (len(self.rows) * keys.shape[2]))
        parts = [
            self._attend_block(module, laid[:, :, first : first + block], keys, values, first)
            for first in range(0, self.most, block)
        ]
        out = parts[0] if len(parts) == 1 else torch.cat(parts, dim=2)
        return out[:, :, 0] if self.single else out.transpose(1, 2)[self.place]

    def _attend_block(self, module: Any, q: Tensor, keys: Tensor, values: Tensor, first: int) -> Tensor:
        """Return the attention of some queries of each line, from number `first` on."""
        mask = self._mask(first, q.shape[2], keys.shape[2])
        if self.earlier is None and mask is not None and not self.single and is_short(q, keys):
            return short_attention(q, keys, values, mask, module.scaling)
        if self.earlier is None:
            grouped = module.num_key_value_groups > 1
            return scaled_dot_product_attention(q, keys, values, mask, scale=module.scaling, enable_gqa=grouped)
        recent = attend_part(q, keys, values, mask, module.scaling)
        return self.earlier.attend(module, q, recent)

    def _visible(self, slots: Flags) -> Bool[Tensor, "lines columns"] | None:
        """Return which recent columns are seen by the last query of each line, None if that is all of them."""
        before = np.arange(slots.shape[1]) < self.recent[:, None]
        # Where there are several queries, each has a mask of its own for what comes later.
        visible = slots & before if self.single else slots | ~before
        return None if visible.all() else on_device(visible, self.device)

    def _lay_out(self, q: Float[Tensor, "tokens heads head"]) -> Float[Tensor, "lines heads most head"]:
        laid = q.new_zeros((len(self.rows), self.most, *q.shape[1:]))
        laid[self.place] = q
        return laid.transpose(1, 2)

    def _own_columns(self) -> Int[Tensor, "lines most"]:
        """Return where each query stands among the recent columns of its row; spare queries see everything."""
        own = np.full((len(self.rows), self.most), np.iinfo(np.int64).max)
        own[self.number] = self.columns - self.store.first[self.rows][self.number[0]]
        return on_device(own, self.device)

    def _mask(self, first: int, count: int, columns: int) -> Bool[Tensor, "lines 1 count columns"] | None:
        visible = None if self.visible is None else self.visible[:, None, None, :]
        if self.own is None:  # the query is the last column: it sees all that is there
            return visible
        own = self.own[:, None, first : first + count, None]
        earlier = torch.arange(columns, device=self.device) <= own
        return earlier if visible is None else earlier & visible


def row_starts(rows: Numbers) -> Numbers:
    """Return where in a list of tokens the tokens of another row begin."""
    return np.flatnonzero(np.diff(rows, prepend=-1))


class EarlierTokens:
    """Attention over settled tokens: runs of memory, merged with what the recent ones gave."""

    def __init__(self, runs: Sequence[Sequence[Run | None]]) -> None:
        self._runs = runs

    @staticmethod
    def of(settled: Sequence[tuple[Settled, list[tuple[int, int]]] | None]) -> "EarlierTokens | None":
        """Return what lines see, None if it is nothing: at most two runs each."""
        lines = [[] if one is None else [(one[0], *run) for run in one[1]] for one in settled]
        most = max(map(len, lines), default=0)
        runs = [[line[i] if i < len(line) else None for line in lines] for i in range(most)]
        return EarlierTokens(runs) if runs else None

    def attend(self, module: Any, q: Float[Tensor, "lines heads queries head"], recent: Part) -> Tensor:
        """Return the attention over settled and recent tokens together."""
        out, weight = recent
        for runs in self._runs:
            there = [line for line, run in enumerate(runs) if run is not None]
            parts = [self._over(module, q[line : line + 1], runs[line]) for line in there]
            more, heavy = (torch.cat(tensors) for tensors in zip(*parts, strict=True))
            if len(there) < len(runs):
                index = on_device(np.array(there), q.device)
                more = torch.zeros_like(out).index_copy_(0, index, more)
                heavy = torch.full_like(weight, -torch.inf).index_copy_(0, index, heavy)
            both = torch.logaddexp(weight, heavy)
            out = out * (weight - both).exp().unsqueeze(-1) + more * (heavy - both).exp().unsqueeze(-1)
            weight = both
        return out

    def _over(self, module: Any, q: Tensor, run: Run | None) -> Part:
        assert run is not None
        settled, start, stop = run
        keys, values = settled.layers[module.layer_idx][:, None, :, start:stop]
        return attend_part(q, keys, values, None, module.scaling)


def attend_part(
    q: Float[Tensor, "lines heads queries head"],
    keys: Float[Tensor, "lines few columns head"],
    values: Tensor,
    mask: Bool[Tensor, "lines 1 queries columns"] | None,
    scale: float,
) -> Part:
    """Return attention over some of the keys, and the logarithm of their weight, by which parts are merged."""
    if q.device.type == "cpu":
        bias = None if mask is None else torch.zeros_like(mask, dtype=q.dtype).masked_fill_(~mask, -torch.inf)
        flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        out, weight = flash(q, keys, values, 0.0, False, attn_mask=bias, scale=scale)
        return out, weight
    groups = q.shape[1] // keys.shape[1]
    keys, values = (one.repeat_interleave(groups, dim=1) for one in (keys, values))
    scores = scale * q @ keys.mT
    scores = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
    weight = scores.logsumexp(-1)
    return (scores - weight.unsqueeze(-1)).exp() @ values, weight
