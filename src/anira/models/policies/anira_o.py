"""ANIRA-O: a halting decision after every iteration (paper, sections 3.1 and 3.2.3)."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import logsigmoid

from anira.models import exits
from anira.models.policies.base import Allocation, ComputePolicy, Context, Readout, Route, State, passthrough
from anira.models.policies.decider import Decider
from anira.models.policies.options import Lookahead, check_compute_options, looked_at
from anira.models.policies.rules import DISTRIBUTION_RULES
from anira.models.policies.task_loss import TaskLoss


@dataclass(frozen=True, kw_only=True)
class AniraOOptions:
    """Options of ANIRA-O."""

    gamma: float = 0.1
    """Weight of the compute regulariser."""
    base: float = 2.0
    """The prior over depths is proportional to base^-d."""
    bias: float = 0.0
    """Initial bias of the halting logit; negative values start deep."""
    detach: bool = False
    """Cut the gradient from the decider into the core."""
    lookahead: Lookahead = "full"
    """How far beyond the sampled exit the gradient looks: full (the paper's) or one iteration."""
    zero_start: bool = False
    """Start with a last matrix of zeros: the first halt_prob is the same for every token, that of the bias."""

    def __post_init__(self) -> None:
        check_compute_options(self.gamma, self.base)


@dataclass
class AniraOState(State):
    """Halting logits so far, the mass left, who is alive; for the mode also the best state seen."""

    halt_logits: Float[Tensor, "*tokens hazards"] | None
    """Logit of each decision; what is not decided yet repeats the last one, as a frozen state would."""
    log_r: Float[Tensor, "*tokens"]
    alive: Bool[Tensor, "*tokens"]
    exit_depth: Int[Tensor, "*tokens"]
    log_v: Float[Tensor, "*tokens"] | None
    """In training: the logarithm of the uniform number; a token goes on while r > v."""
    expected: Float[Tensor, "*tokens"] | None
    """For the mean: the sum of r(0) .. r(d - 1)."""
    best_log_q: Float[Tensor, "*tokens"] | None
    best_state: Float[Tensor, "*tokens dim"] | None
    """For the mode: the largest q(d) so far and the state after that iteration."""
    rule: str
    level: float
    max_depth: int


class AniraO(ComputePolicy):
    """Hazards alpha(d) of the state after iteration d; depth by inverse CDF in training, by the median otherwise."""

    name = "anira-o"
    Options = AniraOOptions
    timing = "online"
    rules = DISTRIBUTION_RULES
    default_rule = "median"
    beyond_max_depth = True

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        options = self.options
        self.decider = Decider(config, 1, detach=options.detach, bias=options.bias, zero=options.zero_start)
        self.noise_width = 1

    def init_weights(self) -> None:
        """Start the decider as its options say."""
        self.decider.start()

    def begin(self, h0: Tensor, ctx: Context) -> AniraOState:
        """Start with all the mass and everyone alive."""
        rule = ctx.select
        like = exits.at_least_float32(h0[..., 0])
        mode = rule == "mode" and ctx.noise is None
        return AniraOState(
            halt_logits=like.new_zeros((*like.shape, ctx.max_depth - 1)) if ctx.probs else None,
            log_r=torch.zeros_like(like),
            alive=torch.ones_like(like, dtype=torch.bool),
            exit_depth=torch.zeros_like(like, dtype=torch.long),
            log_v=None if ctx.noise is None else ctx.noise[..., 0].to(like.dtype).log(),
            expected=torch.zeros_like(like) if rule == "mean" and ctx.noise is None else None,
            best_log_q=torch.full_like(like, -torch.inf) if mode else None,
            best_state=torch.zeros_like(h0) if mode else None,
            rule=rule,
            level=ctx.threshold or 0.5,
            max_depth=ctx.max_depth,
        )

    def route(self, depth: int, h: Tensor, state: AniraOState) -> Route:
        """Run who is alive. In training the gradient goes through r(d-1), the probability of being alive."""
        if state.log_v is None or depth == 1:
            return Route(state.alive)
        soft = looked_at(state.log_r.exp(), depth, state.exit_depth, self.options.lookahead)
        return Route(state.alive, exits.straight_through(state.alive.to(soft.dtype), soft))

    def update(self, depth: int, h: Tensor, candidate: Tensor, route: Route, state: AniraOState) -> Tensor:
        """Merge, then decide from the new state who goes on; after the last iteration there is nothing to decide."""
        h = passthrough(h, candidate, route)
        logit = self.decider(h)[..., 0] if depth < state.max_depth else None
        self._note_exit(depth, h, logit, state)
        if logit is not None:
            if state.halt_logits is not None:
                hazards = torch.arange(state.max_depth - 1, device=h.device) >= depth - 1
                state.halt_logits = torch.where(hazards, logit.unsqueeze(-1), state.halt_logits)
            log_before, state.log_r = state.log_r, state.log_r + logsigmoid(-logit)
            state.alive = state.alive & ~self._halts(depth, logit, log_before, state)
        return h

    def _halts(self, depth: int, logit: Tensor, log_before: Tensor, state: AniraOState) -> Tensor:
        if state.log_v is not None:
            return state.log_r <= state.log_v
        if state.rule == "mean":
            return self._mean_reached(depth, logit, log_before, state)
        if state.rule == "mode":
            # No later q can exceed the mass that is left. The hazard of an alive token is always its own.
            assert state.best_log_q is not None
            return state.log_r <= state.best_log_q
        return exits.halted(state.log_r, state.level)

    def _mean_reached(self, depth: int, logit: Tensor, log_before: Tensor, state: AniraOState) -> Tensor:
        """Halt at the smallest d with round(E[depth | hazard frozen from d on]) <= d.

        E = sum of r(0) .. r(D-1); with a constant hazard alpha, r(d) .. r(D-1) sum to r(d) (1 - (1 - alpha)^(D-d)) /
        alpha.
        """
        assert state.expected is not None
        state.expected = state.expected + torch.where(state.alive, log_before.exp(), 0.0)
        log_alpha, log_stay = logsigmoid(logit), logsigmoid(-logit)
        left = state.max_depth - depth
        tail = torch.exp(state.log_r - log_alpha) * -torch.expm1(left * log_stay)
        tail = torch.where(log_alpha < -15, torch.exp(state.log_r) * left, tail)  # alpha -> 0: the sum has equal terms
        return exits.round_half_up(state.expected + tail) <= depth

    def _note_exit(self, depth: int, h: Tensor, logit: Tensor | None, state: AniraOState) -> None:
        """Note the exit depth so far: the last executed one, or for the mode the most likely one and its state."""
        if state.best_state is None or state.best_log_q is None:
            state.exit_depth = (
                state.exit_depth + state.alive
            )  # iterations follow each other: the last one's is their number
            return
        log_q = state.log_r if logit is None else state.log_r + logsigmoid(logit)
        better = state.alive & (log_q > state.best_log_q)
        state.exit_depth = torch.where(better, depth, state.exit_depth)
        state.best_log_q = torch.where(better, log_q, state.best_log_q)
        state.best_state = torch.where(better.unsqueeze(-1), h, state.best_state)

    def readout(self, h: Tensor, state: AniraOState) -> Readout:
        """Return the exit state; under the mode rule the most likely one, which may be an earlier one (virtual)."""
        return super().readout(h if state.best_state is None else state.best_state, state)

    def loss(self, state: AniraOState, task: TaskLoss) -> dict[str, Tensor]:
        """Return gamma times the mean KL to the prior over valid tokens."""
        assert state.halt_logits is not None
        log_q = exits.hazards_to_log_probs(state.halt_logits)
        log_p = exits.log_prior(log_q.shape[-1], self.options.base, log_q)
        kl = task.mean_over_valid(exits.kl_divergence(log_q, log_p))
        return {"compute": self.options.gamma * task.scale * kl}

    def allocation(self, state: AniraOState) -> Allocation:
        """Return depth and distribution; under the mode rule the depth is the mode's."""
        if state.halt_logits is None:
            return Allocation(state.exit_depth)
        log_q = exits.hazards_to_log_probs(state.halt_logits)
        return Allocation(state.exit_depth, log_q, exits.expected_depth(log_q))

    def decision_flops(self) -> int:
        """Return the cost of the decider."""
        return self.decider.flops()

    def float32_flops(self) -> int:
        """Return the cost of the decider's last matrix."""
        return self.decider.float32_flops()

    def num_decisions(self, executed: Int[Tensor, "*tokens"], max_depth: int) -> Int[Tensor, "*tokens"]:
        """One decision after each iteration but the last possible one."""
        return executed.clamp(max=max_depth - 1)
