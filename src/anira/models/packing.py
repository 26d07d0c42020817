"""Instances laid end to end in one row: training without padding.

The linear maps of a layer, which are nearly all of its work, see real tokens only. Attention alone is laid out in rows,
one per instance, where padding at the end costs little and needs no mask.

    lengths 3, 2:   a1 a2 a3 b1 b2   <->   a1 a2 a3
                                           b1 b2 .
"""

from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from anira.models.masks import restrict
from anira.models.short import is_short, short_attention


class _Spread(torch.autograd.Function):
    """Give rows distinct places in a larger tensor, whose other places repeat some row that nobody may read.

    `source` says for each place which row stands there, `place` the reverse. Reading is faster than writing into zeros.
    """

    @staticmethod
    def forward(ctx: Any, flat: Tensor, source: Tensor, place: Tensor) -> Tensor:
        ctx.save_for_backward(place)
        return flat.index_select(0, source)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return gradient.index_select(0, ctx.saved_tensors[0]), None, None


class _Gather(torch.autograd.Function):
    """Read rows from distinct places; the gradient is copied back there, without any sum."""

    @staticmethod
    def forward(ctx: Any, spread: Tensor, place: Tensor) -> Tensor:
        ctx.save_for_backward(place)
        ctx.size = len(spread)
        return spread.index_select(0, place)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        gradient = gradient.contiguous()
        whole = gradient.new_zeros((ctx.size, *gradient.shape[1:]))
        return whole.index_copy_(0, ctx.saved_tensors[0], gradient), None


@dataclass(frozen=True)
class Packing:
    """Where the tokens of a packed row stand when every instance has a row of its own."""

    rows: Int[Tensor, " tokens"]
    columns: Int[Tensor, " tokens"]
    num_rows: int
    longest: int
    _places: dict[int, tuple[Tensor, Tensor]] = field(default_factory=dict, init=False)
    """What `_place` has found, by number of heads: all layers of a call ask for the same."""

    @staticmethod
    def of(lengths: Int[Tensor, " instances"], total: int, longest: int | None = None) -> "Packing":
        """Return the packing of instances of these lengths, `total` tokens together.

        >>> Packing.of(torch.tensor([3, 2]), 5).columns
        tensor([0, 1, 2, 0, 1])
        """
        number = torch.arange(len(lengths), device=lengths.device)
        rows = torch.repeat_interleave(number, lengths, output_size=total)
        first = lengths.cumsum(0) - lengths
        columns = torch.arange(total, device=lengths.device) - first[rows]
        return Packing(rows, columns, len(lengths), int(lengths.max()) if longest is None else longest)

    @property
    def whole(self) -> bool:
        """Whether all instances are equally long, so that spreading is a mere view."""
        return len(self.rows) == self.num_rows * self.longest

    def lay_out(self, flat: Shaped[Tensor, "tokens heads head"]) -> Shaped[Tensor, "rows heads longest head"]:
        """Give every instance its row; what lies after its end is for nobody to read."""
        heads, size = flat.shape[1], flat.shape[2]
        if self.whole:
            return flat.reshape(self.num_rows, self.longest, heads, size).transpose(1, 2)
        laid: Tensor = _Spread.apply(flat.reshape(-1, size), *self._place(heads))
        return laid.view(self.num_rows, heads, self.longest, size)

    def take_back(self, laid: Float[Tensor, "rows heads longest head"]) -> Float[Tensor, "tokens heads head"]:
        """Take the tokens back out of their rows."""
        heads, size = laid.shape[1], laid.shape[3]
        if self.whole:
            return laid.transpose(1, 2).reshape(-1, heads, size)
        taken: Tensor = _Gather.apply(laid.reshape(-1, size), self._place(heads)[1])
        return taken.view(-1, heads, size)

    def _place(self, heads: int) -> tuple[Int[Tensor, " places"], Int[Tensor, " tokens_heads"]]:
        """Return who stands at each place of (rows, heads, longest), and the place of every head of every token."""
        if heads not in self._places:
            head = torch.arange(heads, device=self.rows.device)
            place = ((self.rows[:, None] * heads + head) * self.longest + self.columns[:, None]).flatten()
            source = place.new_zeros(self.num_rows * heads * self.longest)
            source = source.index_copy(0, place, torch.arange(len(place), device=place.device))
            self._places[heads] = (source, place)
        return self._places[heads]

    def part(self, index: Int[Tensor, " part"]) -> "Packing":
        """Return where some of the tokens stand if each row has them alone, one after the other."""
        rows = self.rows[index]
        same = torch.cat([rows.new_zeros(1, dtype=torch.bool), rows[1:] == rows[:-1]])
        number = torch.arange(len(index), device=rows.device)
        start = torch.where(same, 0, number).cummax(0).values
        columns = number - start
        if torch.compiler.is_compiling():  # which cannot look; the rows of all tokens are long enough
            return Packing(rows, columns, self.num_rows, self.longest)
        return Packing(rows, columns, self.num_rows, int(columns.max()) + 1)


class PackedAttention:
    """Every token sees the earlier tokens of its own instance."""

    def __init__(self, packing: Packing, mask: Bool[Tensor, "rows 1 longest longest"] | None = None) -> None:
        self.packing, self.mask = packing, mask

    def iteration(self, depth: int, see: Bool[Tensor, "1 tokens"] | None) -> "PackedAttention":
        """Return the attention of an iteration of the core, in which some tokens may be invisible to others."""
        if see is None:
            return self
        laid = self.packing.lay_out(see[0, :, None, None])[:, 0, :, 0]
        return PackedAttention(self.packing, restrict(None, laid))

    def attend(self, module: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, **options: Any) -> Tensor:
        """Lay out queries, keys and values, attend, and take the tokens back."""
        # squeeze, not [0]: the gradient of an index is written into zeros, in a layout that later copies undo.
        q, k, v = (self.packing.lay_out(tensor.squeeze(0).transpose(0, 1)) for tensor in (q, k, v))
        grouped, dropout = module.num_key_value_groups > 1, options.get("dropout", 0.0)
        if self.mask is None and not dropout and is_short(q, k):
            out = short_attention(q, k, v, None, module.scaling)
        else:
            out = scaled_dot_product_attention(
                q,
                k,
                v,
                attn_mask=self.mask,
                dropout_p=dropout,
                is_causal=self.mask is None,
                scale=module.scaling,
                enable_gqa=grouped,
            )
        return self.packing.take_back(out).unsqueeze(0)


class PartAttention:
    """Some tokens ask, all tokens answer: what the last layer needs where only some positions are read out.

    Keys and values of all tokens are given; those that the layer computes for the asking tokens are not looked at.
    """

    def __init__(self, packing: Packing, part: Int[Tensor, " part"], keys: Tensor, values: Tensor) -> None:
        self.asking = packing.part(part)
        self.keys, self.values = (packing.lay_out(tensor) for tensor in (keys, values))
        own = torch.full((packing.num_rows, self.asking.longest), packing.longest, device=part.device)
        own = own.index_put((self.asking.rows, self.asking.columns), packing.columns[part])
        self.mask = (torch.arange(packing.longest, device=part.device) <= own[..., None]).unsqueeze(1)

    def attend(self, module: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, **options: Any) -> Tensor:
        """Attend from the asking tokens over all earlier ones of their instance."""
        out = scaled_dot_product_attention(
            self.asking.lay_out(q.squeeze(0).transpose(0, 1)),
            self.keys,
            self.values,
            attn_mask=self.mask,
            dropout_p=options.get("dropout", 0.0),
            scale=module.scaling,
            enable_gqa=module.num_key_value_groups > 1,
        )
        return self.asking.take_back(out).unsqueeze(0)
