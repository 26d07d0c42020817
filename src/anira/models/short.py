"""Attention over few keys, written out: on a CPU they are too few for the flash kernel."""

from typing import Final

import torch
from jaxtyping import Bool, Float
from torch import Tensor

_SHORT: Final = 64
"""Up to this many keys the weights of attention take about as much memory as its queries."""
_NARROW: Final = 16
"""Keys below which a softmax over the last dimension leaves most of a vector register empty."""


def is_short(q: Tensor, k: Tensor) -> bool:
    """Say whether `short_attention` is the faster way, and can be used: as many heads of keys as of queries."""
    return q.is_cpu and k.shape[2] <= _SHORT and q.shape[1] == k.shape[1]


def short_attention(
    q: Float[Tensor, "rows heads queries head"],
    k: Float[Tensor, "rows heads keys head"],
    v: Float[Tensor, "rows heads keys head"],
    mask: Bool[Tensor, "rows 1 queries keys"] | None,
    scale: float,
) -> Float[Tensor, "rows heads queries head"]:
    """Attend where the mask allows it; without one causally.

    >>> q = torch.ones(1, 1, 2, 4)
    >>> short_attention(q, q, torch.tensor([[[[1.0], [3.0]]]]).expand(1, 1, 2, 4), None, 0.5)[0, 0, :, 0]
    tensor([1., 2.])
    """
    queries, keys, values = (tensor.flatten(0, 1) for tensor in (q, k, v))
    if mask is None:
        bias = torch.full((q.shape[2], k.shape[2]), -torch.inf, dtype=q.dtype, device=q.device).triu(1)
    else:
        barred = torch.zeros_like(mask, dtype=q.dtype).masked_fill_(~mask, -torch.inf)
        bias = barred.expand(*q.shape[:3], -1).flatten(0, 1)
    if k.shape[2] >= _NARROW:
        weights = torch.baddbmm(bias, queries, keys.mT, alpha=scale).softmax(-1)
    else:  # the same, laid out keys by queries: the softmax runs over rows, whole vectors at a time
        weights = torch.baddbmm(bias.mT, keys, queries.mT, alpha=scale).softmax(-2).mT
    return torch.bmm(weights, values).view(q.shape)
