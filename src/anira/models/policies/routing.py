"""What routing policies share: the router, and the choice of the k best tokens of a sequence, which training makes."""

import math
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from anira.models.exits import at_least_float32


class Router(nn.Module):
    """A linear map from the state to scores, in float32 or better; with a `width`, a small network instead."""

    def __init__(
        self, config: Any, outputs: int = 1, *, width: int = 0, bias: bool = False, detach: bool = False
    ) -> None:
        super().__init__()
        size, self.detach = config.hidden_size, detach
        self.hidden: nn.Module | None = None
        if width:
            self.hidden = nn.Sequential(nn.LayerNorm(size), nn.Linear(size, width, bias=False), nn.SiLU())
        self.out = nn.Linear(width or size, outputs, bias=bias)

    def forward(self, h: Float[Tensor, "*tokens dim"]) -> Float[Tensor, "*tokens outputs"]:
        """Return the scores of every token."""
        x = at_least_float32(h.detach() if self.detach else h)
        with torch.autocast(h.device.type, enabled=False):
            return at_least_float32(self.out(x if self.hidden is None else self.hidden(x)))

    def flops(self) -> int:
        """Return twice the multiply-adds for one token."""
        linear = [module for module in self.modules() if isinstance(module, nn.Linear)]
        return sum(2 * module.in_features * module.out_features for module in linear)


def top_k_per_row(
    scores: Float[Tensor, "*tokens"],
    rows: Int[Tensor, "*tokens"],
    valid: Bool[Tensor, "*tokens"],
    share: float,
    among: Bool[Tensor, "*tokens"] | None = None,
) -> Bool[Tensor, "*tokens"]:
    """Choose of every sequence the ceil(share * length) tokens with the largest scores; of equal ones the earlier.

    Padding neither counts nor is chosen; `among`: only these may be. `rows` says which sequence a token belongs to, so
    that it does not matter how sequences lie in the batch.

    >>> scores, rows = torch.tensor([1.0, 3.0, 3.0, 9.0]), torch.tensor([0, 0, 0, 1])
    >>> top_k_per_row(scores, rows, torch.ones(4, dtype=torch.bool), 0.5)
    tensor([False,  True,  True,  True])
    """
    eligible = valid if among is None else valid & among
    row, number = rows.flatten(), torch.arange(rows.numel(), device=rows.device)
    best = torch.argsort(scores.detach().masked_fill(~eligible, -math.inf).flatten(), descending=True, stable=True)
    order = best[torch.argsort(row[best], stable=True)]  # by row, within it by score, then by index
    ordered = row[order]
    first = torch.cat([torch.ones_like(ordered[:1], dtype=torch.bool), ordered[1:] != ordered[:-1]])
    rank = torch.zeros_like(number).scatter(0, order, number - torch.where(first, number, 0).cummax(0).values)
    lengths = torch.zeros_like(number).index_add(0, row, valid.flatten().long())
    # What is off by rounding only (0.07 * 100 > 7) must not cost one more token.
    most = torch.ceil(share * lengths.double() - 1e-9)
    return eligible & (rank < most[row]).view(rows.shape)


def logit_of(prob: float) -> float:
    """Return log(p / (1 - p)), so that a probability can be compared before the sigmoid rounds it.

    >>> logit_of(0.5), logit_of(1.0)
    (0.0, inf)
    """
    if prob in (0.0, 1.0):
        return math.inf if prob else -math.inf
    return math.log(prob) - math.log1p(-prob)
