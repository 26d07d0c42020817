"""Huginn: depths drawn at random in training, convergence criteria afterwards (Geiping et al. 2025, arXiv 2502.05171).

Training (section 3.3 of the paper): one depth per optimizer step, r = 1 + Poisson(exp(tau)) with tau normal of mean
log(mean_depth) - spread^2 / 2 and standard deviation `spread`; gradient through the last iterations only; plain
cross-entropy at that depth. Before the cap r has mean mean_depth + 1. Inference (section 6.1): run until a criterion
is met (criteria.py). Nothing is learned for it, and the policy has no weights: the backbone of any trained model can
be given this policy.

What was decided: `mean_depth` is the model's max_depth unless given (the paper has 32); depths are capped at twice
max_depth, or at max_depth where layers are not shared; the last min(8, max_depth) iterations carry gradient (8 in the
paper). The paper's adapter and random initial state are options of the backbone (injection = "concat-linear",
initial_state = "random"); without injection the prelude gets no gradient in steps deeper than `last`. The default
rule is `latent`, which needs no probe and means the same with and without a coda. A token whose criterion is met
freezes, as halted tokens of other policies do; the code decodes token by token, and has others read its last keys.
"""

import copy
import math
from dataclasses import dataclass
from typing import Any, Self

import torch
from jaxtyping import Float, Int
from torch import Tensor

from anira.config import UserError, later
from anira.models.policies.base import Allocation, ComputePolicy, Context, Route, passthrough
from anira.models.policies.criteria import CRITERIA, CRITERIA_RULES, CriterionState, begin_watching, watch


@dataclass(frozen=True, kw_only=True)
class HuginnOptions:
    """Options of Huginn; they matter in training only."""

    mean_depth: float | None = None
    """Mean of the Poisson rate, one less than the mean depth of a step before the cap; None: max_depth."""
    spread: float = 0.5
    """Standard deviation of the rate's logarithm."""
    last: int | None = None
    """How many of the last iterations carry gradient; None: 8, or max_depth if that is less."""
    ramp: float = later(0.0)
    """Share of training over which mean_depth rises from 1, slowly at first: as 1 - sqrt(1 - share done)."""

    def __post_init__(self) -> None:
        if not 0 <= self.ramp <= 1:
            raise UserError(f"ramp must lie in [0, 1], not {self.ramp}: it is a share of training")
        if self.mean_depth is not None and self.mean_depth <= 0:
            raise UserError(f"mean_depth must be positive, not {self.mean_depth}: leave it out for max_depth")
        if self.spread < 0:
            raise UserError(f"spread must be at least 0, not {self.spread}")
        if self.last is not None and self.last < 1:
            raise UserError(f"last must be at least 1, not {self.last}: without gradient nothing is learned")


class Huginn(ComputePolicy):
    """Everyone runs a random number of iterations in training, and until a criterion is met afterwards."""

    name = "huginn"
    Options = HuginnOptions
    timing = "online"
    rules = CRITERIA_RULES
    default_rule = "latent"
    beyond_max_depth = True
    step_noise_width = 2

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        options = self.options
        self.sizes = (config.hidden_size, config.vocab_size)
        self.mean_depth = float(config.max_depth if options.mean_depth is None else options.mean_depth)
        self.cap = config.max_depth * (2 if config.shared_core else 1)
        self.last = min(8, config.max_depth) if options.last is None else options.last
        self.priced_rule = self.default_rule

    def depth_for_step(self, step_noise: Float[Tensor, " channels"] | None, progress: Tensor | float) -> int | None:
        """Return the depth of a training step, by inverting the distribution functions of tau and of r."""
        if step_noise is None:
            return None
        first, level = step_noise.double().unbind()
        normal = math.sqrt(2) * torch.erfinv(2 * first - 1).item()
        spread = self.options.spread
        rate = self._mean_depth(float(progress)) * math.exp(spread * normal - spread**2 / 2)
        return 1 + poisson_quantile(level.item(), rate, self.cap - 1)

    def _mean_depth(self, progress: float) -> float:
        """Return the mean that holds at a moment of training: a whole number, at least 1, while it rises."""
        ramp = self.options.ramp
        if progress >= ramp:
            return self.mean_depth
        return float(max(1, math.ceil(self.mean_depth * (1 - math.sqrt(1 - progress / ramp)))))

    def detached_iterations(self, ctx: Context) -> int:
        """All but the last ones."""
        last: int = self.last
        return max(ctx.max_depth - last, 0)

    def begin(self, h0: Tensor, ctx: Context) -> CriterionState:
        """Start with everyone alive; in training nobody halts."""
        return begin_watching(h0, ctx, "none" if ctx.training else ctx.select, self.sizes[1])

    def route(self, depth: int, h: Tensor, state: CriterionState) -> Route:
        """Run who is alive."""
        return Route(state.alive)

    def update(self, depth: int, h: Tensor, candidate: Tensor, route: Route, state: CriterionState) -> Tensor:
        """Merge, and see who has settled."""
        after = passthrough(h, candidate, route)
        watch(depth, h, after, state)
        return after

    def allocation(self, state: CriterionState) -> Allocation:
        """Return the depths; there is no distribution."""
        return Allocation(state.exit_depth)

    def for_rule(self, select: str) -> Self:
        """Return the policy priced by a rule: half of them ask the head after each iteration, `none` asks nothing."""
        priced = copy.copy(self)
        priced.priced_rule = select
        return priced

    def decision_flops(self) -> int:
        """Return the cost of looking once."""
        criterion = CRITERIA.get(self.priced_rule)
        return 0 if criterion is None else criterion.flops(*self.sizes)

    def float32_flops(self) -> int:
        """Return what is no product of the head, which runs in autocast's format."""
        criterion = CRITERIA.get(self.priced_rule)
        return 0 if criterion is None or criterion.probes else criterion.flops(*self.sizes)

    def num_decisions(self, executed: Int[Tensor, "*tokens"], max_depth: int) -> Int[Tensor, "*tokens"]:
        """One look after each iteration but the last possible one."""
        return executed.clamp(max=max_depth - 1) if self.priced_rule in CRITERIA else torch.zeros_like(executed)


def poisson_quantile(level: float, rate: float, most: int) -> int:
    """Return the smallest k <= most with P(Poisson(rate) <= k) >= level, or `most` where there is none.

    >>> poisson_quantile(0.5, 2.0, 9), poisson_quantile(0.9999, 2.0, 3)
    (2, 3)
    """
    log_term, total = -rate, 0.0
    for k in range(most):
        total += math.exp(log_term)
        if total >= level:
            return k
        log_term += math.log(rate) - math.log(k + 1)
    return most
