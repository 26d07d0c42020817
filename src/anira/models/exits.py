"""Distributions over exit depths, in log space: what every policy with an exit distribution shares.

Everything here works on logits and log-probabilities in float32 or better. The naive forms (products of 1 - halt_prob,
alpha * log alpha) lose all digits or turn into NaN once a decider saturates; see docs/method.md, "Numerics".
"""

import math
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import logsigmoid

Rule = Literal["mode", "median", "mean", "quantile"]
"""How one depth is read off a distribution; the quantile has a level, and the median is that of one half."""


def at_least_float32(x: Tensor) -> Tensor:
    """Return x in float32, or as it is if it is float64: half precision is not enough for sums of logarithms."""
    return x if x.dtype == torch.float64 else x.float()


def straight_through(hard: Tensor, soft: Tensor) -> Tensor:
    """Return `hard` with the gradient of `soft`.

    The bracket is exactly 0, so the value is exactly 0 or 1. Written from left to right, hard + soft - soft.detach()
    is off by one unit of rounding for a quarter of all values, which would leak a part of a frozen token's update.
    """
    return hard + (soft - soft.detach())


def log_prior(max_depth: int, base: float, like: Tensor) -> Float[Tensor, " depth"]:
    """Return log p(d) for p(d) proportional to base^-d on 1 .. max_depth (paper, section 3.2.1).

    Normalised by a logsumexp, because the closed geometric sum is 0/0 at base = 1.

    >>> log_prior(2, 3.0, torch.zeros(1)).exp()
    tensor([0.7500, 0.2500])
    """
    dtype = torch.float64 if like.dtype == torch.float64 else torch.float32
    weights = -math.log(base) * torch.arange(1, max_depth + 1, dtype=dtype, device=like.device)
    return torch.log_softmax(weights, dim=0)


def log_prior_hazards(max_depth: int, base: float, like: Tensor) -> tuple[Float[Tensor, " d"], Float[Tensor, " d"]]:
    """Return log h(d) and log(1 - h(d)), d < max_depth, of the prior: h(d) = P(depth = d | depth >= d).

    >>> log_prior_hazards(3, 1.0, torch.zeros(1))[0].exp()
    tensor([0.3333, 0.5000])
    """
    log_p = log_prior(max_depth, base, like)
    log_from = torch.flip(torch.logcumsumexp(torch.flip(log_p, (0,)), 0), (0,))  # log P(depth >= d)
    return (log_p - log_from)[:-1], log_from[1:] - log_from[:-1]


def log_survival(halt_logits: Float[Tensor, "*tokens depth"]) -> Float[Tensor, "*tokens depth"]:
    """Return log r(d), the mass left after d halting decisions with these logits."""
    return logsigmoid(-halt_logits).cumsum(-1)


def hazards_to_log_probs(halt_logits: Float[Tensor, "*tokens hazards"]) -> Float[Tensor, "*tokens depth"]:
    """Return log q(d), d = 1 .. D, from the D - 1 halting logits: q(d) = r(d-1) alpha(d), q(D) = r(D-1).

    >>> hazards_to_log_probs(torch.zeros(2)).exp()
    tensor([0.5000, 0.2500, 0.2500])
    """
    log_r = log_survival(halt_logits)
    zero = torch.zeros_like(log_r[..., :1]) if log_r.shape[-1] else log_r.new_zeros((*log_r.shape[:-1], 1))
    before = torch.cat([zero, log_r], dim=-1)
    return before + torch.cat([logsigmoid(halt_logits), zero], dim=-1)


def kl_divergence(log_q: Float[Tensor, "*tokens depth"], log_p: Float[Tensor, " depth"]) -> Float[Tensor, "*tokens"]:
    """Return KL(q || p). The direction matters: the reverse one rewards spreading over all depths."""
    return (log_q.exp() * (log_q - log_p)).sum(-1)


def expected_depth(log_q: Float[Tensor, "*tokens depth"]) -> Float[Tensor, "*tokens"]:
    """Return the mean of a distribution over depths 1 .. D."""
    depths = torch.arange(1, log_q.shape[-1] + 1, dtype=log_q.dtype, device=log_q.device)
    return (log_q.exp() * depths).sum(-1)


def cap_depth(log_q: Float[Tensor, "*tokens depth"], max_depth: int) -> Float[Tensor, "*tokens capped"]:
    """Return the distribution of min(depth, max_depth): what lies beyond exits at max_depth."""
    if max_depth >= log_q.shape[-1]:
        return log_q
    tail = torch.logsumexp(log_q[..., max_depth - 1 :], dim=-1, keepdim=True)
    return torch.cat([log_q[..., : max_depth - 1], tail], dim=-1)


def round_half_up(x: Tensor) -> Tensor:
    """Round to the nearest integer, halves upwards (torch.round sends 2.5 to 2 and 3.5 to 4)."""
    return torch.floor(x + 0.5)


def select_depth(log_q: Float[Tensor, "*tokens depth"], rule: str, level: float) -> Int[Tensor, "*tokens"]:
    """Return one depth for each distribution; `level` is the quantile's, and not read by the other rules.

    >>> select_depth(torch.tensor([0.4, 0.3, 0.3]).log(), "median", 0.5)
    tensor(2)
    """
    if rule == "mode":
        return log_q.argmax(-1) + 1
    if rule == "mean":
        return round_half_up(expected_depth(log_q)).long()
    # F(d) >= t is r(d) <= 1 - t, and r(d) = P(depth > d) is summed from the far end so that small tails keep their
    # digits.
    survival = torch.flip(torch.flip(log_q.exp(), (-1,)).cumsum(-1), (-1,))[..., 1:]
    return (survival > 1 - level).sum(-1) + 1


def halted(log_r: Float[Tensor, "*tokens"], level: float) -> Bool[Tensor, "*tokens"]:
    """Say whether F(d) >= level, given log r(d). At level 1 nobody halts before D."""
    return log_r <= (math.log1p(-level) if level < 1 else -math.inf)
