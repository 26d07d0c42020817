"""Attention masks, only where there is something to mask: without one, attention takes its fast path."""

import torch
from jaxtyping import Bool
from torch import Tensor


def causal_mask(key_valid: Bool[Tensor, "batch keys"], num_queries: int) -> Bool[Tensor, "batch 1 queries keys"]:
    """Return who sees whom when the queries are the last columns.

    A token always sees itself, so that no row of a softmax is empty, not even a padding token's.
    """
    columns = torch.arange(key_valid.shape[1], device=key_valid.device)
    queries = columns[len(columns) - num_queries :, None]
    return ((columns <= queries) & key_valid[:, None, None, :]) | (columns == queries)


def restrict(
    mask: Bool[Tensor, "batch 1 time time"] | None, see: Bool[Tensor, "batch time"]
) -> Bool[Tensor, "batch 1 time time"]:
    """Return a square mask in which only the tokens in `see`, and oneself, are visible."""
    columns = torch.arange(see.shape[1], device=see.device)
    causal = columns <= columns[:, None] if mask is None else mask
    return (causal & see[:, None, None, :]) | (columns == columns[:, None])
