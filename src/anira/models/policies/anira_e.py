"""ANIRA-E: one early decision from the prelude's output (paper, sections 3.1 and 3.2.3)."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from anira.config import UserError
from anira.models import exits
from anira.models.policies.base import Allocation, ComputePolicy, Context, Route, State
from anira.models.policies.decider import Decider
from anira.models.policies.options import Lookahead, check_compute_options, looked_at
from anira.models.policies.rules import DISTRIBUTION_RULES
from anira.models.policies.task_loss import TaskLoss


@dataclass(frozen=True, kw_only=True)
class AniraEOptions:
    """Options of ANIRA-E."""

    gamma: float = 0.1
    """Weight of the compute regulariser."""
    base: float = 2.0
    """The prior over depths is proportional to base^-d."""
    temperature: float = 1.0
    """Temperature of the Gumbel-softmax gradient; the sampled depth does not depend on it."""
    detach: bool = False
    """Cut the gradient from the decider into the prelude."""
    lookahead: Lookahead = "full"
    """How far beyond the sampled exit the gradient looks: full (the paper's) or one iteration."""
    zero_start: bool = False
    """Start with a last matrix of zeros: the first q is uniform for every token."""

    def __post_init__(self) -> None:
        check_compute_options(self.gamma, self.base)
        if self.temperature <= 0:
            raise UserError(f"temperature must be positive, not {self.temperature}")


@dataclass
class AniraEState(State):
    """The distribution, the chosen depth, and in training the relaxed activity of each iteration."""

    log_q: Float[Tensor, "*tokens offered"] | None
    exit_depth: Int[Tensor, "*tokens"]
    soft_activity: Float[Tensor, "*tokens depth"] | None


class AniraE(ComputePolicy):
    """q = softmax of D logits of the prelude's output; depth by Gumbel sampling in training, by the mode otherwise."""

    name = "anira-e"
    Options = AniraEOptions
    timing = "early"
    rules = DISTRIBUTION_RULES
    default_rule = "mode"

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        options = self.options
        self.decider = Decider(config, config.max_depth, detach=options.detach, bias=0.0, zero=options.zero_start)
        self.noise_width = config.max_depth

    def init_weights(self) -> None:
        """Start the decider as its options say."""
        self.decider.start()

    def begin(self, h0: Tensor, ctx: Context) -> AniraEState:
        """Decide the depth of every token."""
        logits = self.decider(h0)
        # Centring changes neither the softmax nor its gradient; it keeps the logits of half precision small.
        logits = logits - logits.mean(-1, keepdim=True)
        log_q = torch.log_softmax(logits, dim=-1)
        if ctx.noise is None:
            depth, soft = exits.select_depth(log_q, ctx.select, ctx.threshold or 0.5), None
        else:
            gumbel = -torch.log(-torch.log(ctx.noise.to(logits.dtype)))
            depth = (logits + gumbel).argmax(-1) + 1
            relaxed = torch.softmax((logits + gumbel) / self.options.temperature, dim=-1)
            soft = torch.flip(torch.flip(relaxed, (-1,)).cumsum(-1), (-1,))  # mass on this depth or a deeper one
        capped = exits.cap_depth(log_q, ctx.max_depth) if ctx.probs else None
        return AniraEState(capped, depth.clamp(max=ctx.max_depth), soft)

    def route(self, depth: int, h: Tensor, state: AniraEState) -> Route:
        """Run the tokens whose depth is not reached; everyone runs once."""
        run = state.exit_depth >= depth
        if state.soft_activity is None or depth == 1:
            return Route(run)
        soft = looked_at(state.soft_activity[..., depth - 1], depth, state.exit_depth, self.options.lookahead)
        return Route(run, exits.straight_through(run.to(soft.dtype), soft))

    def loss(self, state: AniraEState, task: TaskLoss) -> dict[str, Tensor]:
        """Return gamma times the mean KL to the prior over valid tokens."""
        assert state.log_q is not None
        log_p = exits.log_prior(state.log_q.shape[-1], self.options.base, state.log_q)
        kl = task.mean_over_valid(exits.kl_divergence(state.log_q, log_p))
        return {"compute": self.options.gamma * task.scale * kl}

    def allocation(self, state: AniraEState) -> Allocation:
        """Return depth and distribution."""
        if state.log_q is None:
            return Allocation(state.exit_depth)
        return Allocation(state.exit_depth, state.log_q, exits.expected_depth(state.log_q))

    def decision_flops(self) -> int:
        """Return the cost of the decider."""
        return self.decider.flops()

    def float32_flops(self) -> int:
        """Return the cost of the decider's last matrix."""
        return self.decider.float32_flops()

    def num_decisions(self, executed: Int[Tensor, "*tokens"], max_depth: int) -> Int[Tensor, "*tokens"]:
        """One decision per token."""
        return torch.ones_like(executed)
