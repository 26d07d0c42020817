"""Mixture-of-Recursions, expert choice: iterations keep the best tokens of the last (Bae et al. 2025, section 2.2.1).

Decided where the paper is silent or the released code contradicts it:
- The released router chooses by top-k everywhere, which looks at later tokens. Here top-k is used in training only, and
  elsewhere the surrogate that the auxiliary loss trains: a token goes on while sigmoid(score) exceeds one half.
- The first iteration is everyone's (its capacity is 1), so nothing is learnt about it but its gate.
- The auxiliary loss is a mean over valid tokens and over the decided iterations, and looks only at the tokens that were
  still there to be chosen; only they are ever judged.
- The update is h + g * f(h), as released: f is the whole block with its residual connection, so h grows by 1 + g too.
- k is rounded up, and counts valid tokens of one sequence.
- `keys`: recursion (each iteration sees the tokens that run it) is the paper's recursion-wise caching; all lets halted
  tokens be seen with their last state. The paper's other variant, in which all iterations share the keys and values of
  the first, is all with freeze = "first" of the backbone.
- Timing is "online": a token that is not kept never runs again. The decision before iteration d + 1 and one after
  iteration d read the same state.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from anira.config import UserError
from anira.models.exits import at_least_float32
from anira.models.policies.base import Allocation, ComputePolicy, Context, Route, State
from anira.models.policies.routing import Router, logit_of, top_k_per_row
from anira.models.policies.rules import ThresholdRange
from anira.models.policies.task_loss import TaskLoss

Keys = Literal["recursion", "all"]
"""Whose keys and values an iteration sees: those who run it, or everyone."""


def check_keys(keys: Keys, config: Any) -> None:
    """Raise a UserError if keys are shared by all iterations and hidden from some."""
    if keys == "recursion" and config.freeze == "first":
        raise UserError("freeze='first' has all iterations see the keys of all tokens: set the policy's keys to 'all'")


@dataclass(frozen=True, kw_only=True)
class MorExpertOptions:
    """Options of Mixture-of-Recursions with expert choice."""

    capacities: tuple[float, ...] = ()
    """Share of a sequence's tokens that run each iteration in training; none: 1, (D - 1)/D, ... 1/D."""
    alpha: float = 0.1
    """The gate is alpha * sigmoid(score)."""
    coefficient: float = 0.001
    """Weight of the loss that teaches the surrogate."""
    keys: Keys = "recursion"
    """Whose keys an iteration sees: recursion (those who run it) or all."""

    def __post_init__(self) -> None:
        shares = self.capacities
        falls = all(low <= high for high, low in pairwise(shares))
        if shares and not (shares[0] == 1 and falls and shares[-1] > 0):
            raise UserError(f"capacities must begin with 1, never rise, and stay above 0, unlike {shares}")
        if self.alpha <= 0:
            raise UserError(f"alpha must be positive, not {self.alpha}: no update would count")
        if self.coefficient < 0:
            raise UserError(f"coefficient must be at least 0, not {self.coefficient}")


@dataclass
class MorExpertState(State):
    """Who is still there, for how long, and in training how badly the surrogate imitates the choice."""

    alive: Bool[Tensor, "*tokens"]
    exit_depth: Int[Tensor, "*tokens"]
    imitation: Float[Tensor, "*tokens"]
    level: float
    ctx: Context | None
    """In training: which tokens are compared."""


class MorExpert(ComputePolicy):
    """A router before each iteration keeps the top k of those who ran the last one, or whom the surrogate keeps."""

    name = "mor-expert"
    Options = MorExpertOptions
    timing = "online"
    causal = "surrogate"
    rules = {"surrogate": ThresholdRange(low=0.0, high=1.0, default=0.5, deeper="low")}  # noqa: RUF012 (as declared)
    default_rule = "surrogate"

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        check_keys(self.options.keys, config)
        depth = config.max_depth
        self.capacities = self.options.capacities or tuple((depth - d) / depth for d in range(depth))
        if len(self.capacities) != depth:
            raise UserError(f"capacities must be {depth}, one for each iteration, not {len(self.capacities)}")
        self.routers = nn.ModuleList(Router(config) for _ in range(depth))

    def begin(self, h0: Tensor, ctx: Context) -> MorExpertState:
        """Everyone is there."""
        zero = torch.zeros_like(at_least_float32(h0[..., 0]))
        level = logit_of(0.5 if ctx.threshold is None else ctx.threshold)
        return MorExpertState(
            torch.ones_like(zero, dtype=torch.bool),
            torch.zeros_like(ctx.positions),
            zero,
            level,
            ctx if ctx.training else None,
        )

    def route(self, depth: int, h: Tensor, state: MorExpertState) -> Route:
        """Keep some of those who are there; the gate comes from the same score."""
        score = self.routers[depth - 1](h)[..., 0]
        if depth > 1:
            state.alive = self._kept(depth, score, state)
        gate = self.options.alpha * torch.sigmoid(score)
        return Route(state.alive, see=state.alive if self.options.keys == "recursion" else None, gate=gate)

    def _kept(self, depth: int, score: Tensor, state: MorExpertState) -> Tensor:
        ctx = state.ctx
        if ctx is None:
            return state.alive & (score > state.level)
        kept = top_k_per_row(score, ctx.rows, ctx.valid, self.capacities[depth - 1], among=state.alive)
        wrong = binary_cross_entropy_with_logits(score, kept.to(score.dtype), reduction="none")
        state.imitation = state.imitation + torch.where(state.alive, wrong, 0.0)
        return kept

    def update(self, depth: int, h: Tensor, candidate: Tensor, route: Route, state: MorExpertState) -> Tensor:
        """Add the gated output of the block to the state of those who run."""
        state.exit_depth = state.exit_depth + state.alive
        assert route.gate is not None
        after = h + route.gate.to(h.dtype).unsqueeze(-1) * candidate
        return after if route.whole else torch.where(route.run.unsqueeze(-1), after, h)

    def loss(self, state: MorExpertState, task: TaskLoss) -> dict[str, Tensor]:
        """Return the surrogate's cross-entropy against the choice."""
        if state.ctx is None:
            return {}  # nothing was chosen that could be imitated
        num_decided = max(state.ctx.max_depth - 1, 1)
        return {"surrogate": self.options.coefficient / num_decided * task.mean_over_valid(state.imitation)}

    def allocation(self, state: MorExpertState) -> Allocation:
        """Return how long each token stayed."""
        return Allocation(state.exit_depth)

    def decision_flops(self) -> int:
        """Return the cost of one router."""
        first: Any = self.routers[0]
        flops: int = first.flops()
        return flops

    def num_decisions(self, executed: Int[Tensor, "*tokens"], max_depth: int) -> Int[Tensor, "*tokens"]:
        """One score for each iteration, and one for the iteration that a token was not kept for."""
        return (executed + 1).clamp(max=max_depth)
