"""Instances laid end to end in one row: training without padding.

The linear maps of a layer, which are nearly all of its work, see real tokens only. Attention alone is laid out in rows,
one per instance, where padding at the end costs little and needs no mask.

    lengths 3, 2:   a1 a2 a3 b1 b2   <->   a1 a2 a3
                                           b1 b2 .
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from anira.models.masks import restrict


class _Spread(torch.autograd.Function):
    """Copy rows to distinct places of a larger tensor; the gradient is read from there, without any sum."""

    @staticmethod
    def forward(ctx: Any, flat: Tensor, place: Tensor, size: int) -> Tensor:
        ctx.save_for_backward(place)
        return flat.new_zeros((size, *flat.shape[1:])).index_copy_(0, place, flat)

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

    def spread(self, flat: Shaped[Tensor, "tokens *rest"]) -> Shaped[Tensor, "rows longest *rest"]:
        """Give every instance its row; the rest is 0."""
        size = (self.num_rows, self.longest)
        if self.whole:
            return flat.reshape(*size, *flat.shape[1:])
        place = self.rows * self.longest + self.columns
        laid: Tensor = _Spread.apply(flat, place, size[0] * size[1])
        return laid.view(*size, *flat.shape[1:])

    def gather(self, laid: Float[Tensor, "rows longest *rest"]) -> Float[Tensor, "tokens *rest"]:
        """Take the tokens back out of their rows."""
        flat = laid.reshape(-1, *laid.shape[2:])
        if self.whole:
            return flat
        taken: Tensor = _Gather.apply(flat, self.rows * self.longest + self.columns)
        return taken

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

    def hiding(self, see: Bool[Tensor, "1 tokens"]) -> "PackedAttention":
        """Return the same with only some tokens visible to others."""
        laid = self.packing.spread(see[0].to(torch.uint8)).bool()
        return PackedAttention(self.packing, restrict(None, laid))

    def attend(self, module: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, **options: Any) -> Tensor:
        """Lay out queries, keys and values, attend, and take the tokens back."""
        q, k, v = (self.packing.spread(tensor[0].transpose(0, 1)).transpose(1, 2) for tensor in (q, k, v))
        out = scaled_dot_product_attention(
            q,
            k,
            v,
            attn_mask=self.mask,
            dropout_p=options.get("dropout", 0.0),
            is_causal=self.mask is None,
            scale=module.scaling,
            enable_gqa=module.num_key_value_groups > 1,
        )
        return self.packing.gather(out.transpose(1, 2)).unsqueeze(0)


class PartAttention:
    """Some tokens ask, all tokens answer: what the last layer needs where only some positions are read out.

    Keys and values of all tokens are given; those that the layer computes for the asking tokens are not looked at.
    """

    def __init__(self, packing: Packing, part: Int[Tensor, " part"], keys: Tensor, values: Tensor) -> None:
        self.asking = packing.part(part)
        self.keys, self.values = (packing.spread(tensor).transpose(1, 2) for tensor in (keys, values))
        own = torch.full((packing.num_rows, self.asking.longest), packing.longest, device=part.device)
        own = own.index_put((self.asking.rows, self.asking.columns), packing.columns[part])
        self.mask = (torch.arange(packing.longest, device=part.device) <= own[..., None]).unsqueeze(1)

    def attend(self, module: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, **options: Any) -> Tensor:
        """Attend from the asking tokens over all earlier ones of their instance."""
        out = scaled_dot_product_attention(
            self.asking.spread(q[0].transpose(0, 1)).transpose(1, 2),
            self.keys,
            self.values,
            attn_mask=self.mask,
            dropout_p=options.get("dropout", 0.0),
            scale=module.scaling,
            enable_gqa=module.num_key_value_groups > 1,
        )
        return self.asking.gather(out.transpose(1, 2)).unsqueeze(0)
