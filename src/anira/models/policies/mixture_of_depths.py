"""Mixture-of-Depths: in each routed iteration the best tokens of a sequence run (Raposo et al. 2024, sections 3.2-3.5).

Decided where the paper is silent or our setting differs:
- It routes around blocks with weights of their own; here around iterations of a core that may be shared, with a router
  for each. It routes every other block best; with few iterations we route all of them (`every`).
- The score multiplies the update as it is, as in the paper; it may be negative. `squash` takes its sigmoid.
- A token that skips an iteration is invisible in it, as in the paper, whose attention is among the chosen.
- Top-k looks at later tokens, so it is used in training only. Elsewhere the surrogate decides: the router's own score,
  trained to tell the chosen from the others (paper, section 3.5, first method), or a predictor beside it (second one).
- k is rounded up, and counts valid tokens of one sequence.
- `exit_depth` is the number of iterations that a token wants to run, the scale on which depths are forced: a token that
  runs the first and the third has depth 2. There is no distribution over depths. Executed iterations over those routed
  are the realised capacity, which differs from `capacity` as far as the surrogate is wrong.
"""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as imitation_loss

from anira.config import UserError
from anira.models.exits import at_least_float32
from anira.models.policies.base import Allocation, ComputePolicy, Context, Route, State
from anira.models.policies.routing import Router, logit_of, top_k_per_row
from anira.models.policies.rules import ThresholdRange
from anira.models.policies.task_loss import TaskLoss


@dataclass(frozen=True, kw_only=True)
class MixtureOfDepthsOptions:
    """Options of Mixture-of-Depths."""

    capacity: float = 0.5
    """Share of a sequence's tokens that run a routed iteration in training."""
    every: int = 1
    """Iterations 1 * every, 2 * every, ... are routed; everyone runs the others."""
    squash: bool = False
    """Scale updates by the sigmoid of the score instead of the score."""
    surrogate: Literal["auxiliary", "predictor"] = "auxiliary"
    """What decides outside of training: the router's score, or a small network that predicts the choice."""
    coefficient: float = 0.01
    """Weight of the loss that teaches the surrogate."""

    def __post_init__(self) -> None:
        if not 0 < self.capacity <= 1:
            raise UserError(f"capacity is a share of the tokens: it must lie in (0, 1], not {self.capacity}")
        if self.every < 1:
            raise UserError(f"every must be at least 1 (all iterations are routed), not {self.every}")
        if self.coefficient < 0:
            raise UserError(f"coefficient must be at least 0, not {self.coefficient}")


@dataclass
class MixtureOfDepthsState(State):
    """How many iterations each token wanted so far, and in training how badly the surrogate imitates the choice."""

    exit_depth: Int[Tensor, "*tokens"]
    imitation: Float[Tensor, "*tokens"]
    level: float
    ctx: Context | None
    """In training: which tokens are compared."""


class MixtureOfDepths(ComputePolicy):
    """A router before each iteration: a sequence's top k run it in training, elsewhere those the surrogate picks."""

    name = "mixture-of-depths"
    Options = MixtureOfDepthsOptions
    timing = "route"
    causal = "surrogate"
    rules = {"surrogate": ThresholdRange(low=0.0, high=1.0, default=0.5, deeper="low")}  # noqa: RUF012 (as declared)
    default_rule = "surrogate"

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        routed = config.max_depth // self.options.every
        if not routed:
            raise UserError(
                f"every = {self.options.every} routes none of {config.max_depth} iterations: "
                "choose a smaller one, or the policy 'fixed'"
            )
        self.routers = nn.ModuleList(Router(config) for _ in range(routed))
        width = max(config.hidden_size // 4, 1)
        predictors = (Router(config, width=width, bias=True, detach=True) for _ in range(routed))
        self.predictors = nn.ModuleList(predictors) if self.options.surrogate == "predictor" else None

    def begin(self, h0: Tensor, ctx: Context) -> MixtureOfDepthsState:
        """Nobody has run, and the surrogate has been wrong about nobody."""
        zero = torch.zeros_like(at_least_float32(h0[..., 0]))
        level = logit_of(0.5 if ctx.threshold is None else ctx.threshold)
        return MixtureOfDepthsState(torch.zeros_like(ctx.positions), zero, level, ctx if ctx.training else None)

    def route(self, depth: int, h: Tensor, state: MixtureOfDepthsState) -> Route:
        """Compare the tokens of a sequence in training, and judge each by itself elsewhere."""
        if depth % self.options.every:
            run = torch.ones_like(state.exit_depth, dtype=torch.bool)
            state.exit_depth = state.exit_depth + run
            # Not None, though that is the same here: keys of this iteration must not be seen in the next.
            return Route(run, see=run)
        index = depth // self.options.every - 1
        score = self.routers[index](h)[..., 0]
        guess = score if self.predictors is None else self.predictors[index](h)[..., 0]
        if state.ctx is None:
            run = guess > state.level
        else:
            run = top_k_per_row(score, state.ctx.rows, state.ctx.valid, self.options.capacity)
            state.imitation = state.imitation + imitation_loss(guess, run.to(guess.dtype), reduction="none")
        state.exit_depth = state.exit_depth + run
        return Route(run, see=run, gate=torch.sigmoid(score) if self.options.squash else score)

    def loss(self, state: MixtureOfDepthsState, task: TaskLoss) -> dict[str, Tensor]:
        """Return the surrogate's cross-entropy against the choice, a mean over tokens and routed iterations."""
        if state.ctx is None:
            return {}  # nothing was chosen that could be imitated
        num_routed = max(state.ctx.max_depth // self.options.every, 1)
        return {"surrogate": self.options.coefficient / num_routed * task.mean_over_valid(state.imitation)}

    def allocation(self, state: MixtureOfDepthsState) -> Allocation:
        """Return how many iterations each token wanted."""
        return Allocation(state.exit_depth)

    def decision_flops(self) -> int:
        """Return the cost of a router, and of its predictor if there is one."""
        return self._flops(self.routers) + (0 if self.predictors is None else self._flops(self.predictors))

    def num_decisions(self, executed: Int[Tensor, "*tokens"], max_depth: int) -> Int[Tensor, "*tokens"]:
        """Everyone is asked before every routed iteration."""
        return torch.full_like(executed, max_depth // self.options.every)

    @staticmethod
    def _flops(routers: nn.ModuleList) -> int:
        first: Any = routers[0]
        flops: int = first.flops()
        return flops
