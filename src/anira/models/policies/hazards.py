"""A halting decision after every iteration: the books that ANIRA-O, PonderNet and Ouro keep alike.

`HazardPolicy` decides and reads out at the exit. `UnrolledPolicy` is for mechanisms that train on the expectation of
the losses over depths: in training everyone runs every iteration, and all states are read out.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from anira.models import exits
from anira.models.policies.base import Allocation, ComputePolicy, Context, Readout, Route, State, passthrough
from anira.models.policies.decider import Decider
from anira.models.policies.rules import DISTRIBUTION_RULES
from anira.models.policies.task_loss import TaskLoss


@dataclass
class HazardState(State):
    """Halting logits so far, the mass left, who is alive; for the mode also the best state seen."""

    halt_logits: Float[Tensor, "*tokens hazards"] | None
    """Logit of each decision; what is not decided yet repeats the last one, as a frozen state would."""
    log_r: Float[Tensor, "*tokens"]
    alive: Bool[Tensor, "*tokens"]
    exit_depth: Int[Tensor, "*tokens"]
    log_v: Float[Tensor, "*tokens"] | None
    """If exits are sampled: the logarithm of the uniform number; a token goes on while r > v."""
    expected: Float[Tensor, "*tokens"] | None
    """For the mean: the sum of r(0) .. r(d - 1)."""
    best_log_q: Float[Tensor, "*tokens"] | None
    best_state: Float[Tensor, "*tokens dim"] | None
    """For the mode: the largest q(d) so far and the state after that iteration."""
    rule: str
    level: float
    max_depth: int

    @classmethod
    def start(cls, h0: Tensor, ctx: Context, noise: Tensor | None, *, probs: bool, **own: Any) -> Self:
        """Return the books with all the mass and everyone alive; `own`: fields that a subclass adds."""
        like = exits.at_least_float32(h0[..., 0])
        mode = ctx.select == "mode" and noise is None
        return cls(
            halt_logits=like.new_zeros((*like.shape, ctx.max_depth - 1)) if probs else None,
            log_r=torch.zeros_like(like),
            alive=torch.ones_like(like, dtype=torch.bool),
            exit_depth=torch.zeros_like(like, dtype=torch.long),
            log_v=None if noise is None else noise[..., 0].to(like.dtype).log(),
            expected=torch.zeros_like(like) if ctx.select == "mean" and noise is None else None,
            best_log_q=torch.full_like(like, -torch.inf) if mode else None,
            best_state=torch.zeros_like(h0) if mode else None,
            rule=ctx.select,
            level=ctx.threshold or 0.5,
            max_depth=ctx.max_depth,
            **own,
        )

    def log_probs(self) -> Float[Tensor, "*tokens depth"]:
        """Return log q(d)."""
        assert self.halt_logits is not None
        return exits.hazards_to_log_probs(self.halt_logits)

    def decide(self, depth: int, h: Tensor, logit: Float[Tensor, "*tokens"] | None) -> None:
        """Note the exit and who goes on; after the last iteration there is no logit and nothing to decide."""
        self._note_exit(depth, h, logit)
        if logit is not None:
            if self.halt_logits is not None:
                self.halt_logits = with_hazard(self.halt_logits, depth, logit)
            log_before, self.log_r = self.log_r, self.log_r + logsigmoid(-logit)
            self.alive = self.alive & ~self._halts(depth, logit, log_before)

    def _halts(self, depth: int, logit: Tensor, log_before: Tensor) -> Tensor:
        if self.log_v is not None:
            return self.log_r <= self.log_v
        if self.rule == "mean":
            return self._mean_reached(depth, logit, log_before)
        if self.rule == "mode":
            # No later q can exceed the mass that is left. The hazard of an alive token is always its own.
            assert self.best_log_q is not None
            return self.log_r <= self.best_log_q
        return exits.halted(self.log_r, self.level)

    def _mean_reached(self, depth: int, logit: Tensor, log_before: Tensor) -> Tensor:
        """Halt at the smallest d with round(E[depth | hazard frozen from d on]) <= d.

        E = sum of r(0) .. r(D-1); with a constant hazard alpha, r(d) .. r(D-1) sum to r(d) (1 - (1 - alpha)^(D-d)) /
        alpha.
        """
        assert self.expected is not None
        self.expected = self.expected + torch.where(self.alive, log_before.exp(), 0.0)
        log_alpha, log_stay = logsigmoid(logit), logsigmoid(-logit)
        left = self.max_depth - depth
        tail = torch.exp(self.log_r - log_alpha) * -torch.expm1(left * log_stay)
        tail = torch.where(log_alpha < -15, torch.exp(self.log_r) * left, tail)  # alpha -> 0: the sum has equal terms
        return exits.round_half_up(self.expected + tail) <= depth

    def _note_exit(self, depth: int, h: Tensor, logit: Tensor | None) -> None:
        """Note the exit depth so far: the last executed one, or for the mode the most likely one and its state."""
        if self.best_state is None or self.best_log_q is None:
            # Iterations follow each other: the last one's is their number.
            self.exit_depth = self.exit_depth + self.alive
            return
        log_q = self.log_r if logit is None else self.log_r + logsigmoid(logit)
        better = self.alive & (log_q > self.best_log_q)
        self.exit_depth = torch.where(better, depth, self.exit_depth)
        self.best_log_q = torch.where(better, log_q, self.best_log_q)
        self.best_state = torch.where(better.unsqueeze(-1), h, self.best_state)


def with_hazard(halt_logits: Float[Tensor, "*tokens hazards"], depth: int, logit: Float[Tensor, "*tokens"]) -> Tensor:
    """Return the logits with the one of `depth` from there on: a frozen state is decided on alike again and again."""
    hazards = torch.arange(halt_logits.shape[-1], device=halt_logits.device) >= depth - 1
    return torch.where(hazards, logit.unsqueeze(-1), halt_logits)


def compute_loss(log_q: Float[Tensor, "*tokens depth"], gamma: float, base: float, task: TaskLoss) -> dict[str, Tensor]:
    """Return gamma times the mean over valid tokens of the KL divergence to the prior, p(d) proportional to base^-d."""
    log_p = exits.log_prior(log_q.shape[-1], base, log_q)
    return {"compute": gamma * task.scale * task.mean_over_valid(exits.kl_divergence(log_q, log_p))}


class LinearGate(nn.Module):
    """RMSNorm and a linear layer, in float32 or better: the smallest halting unit, in place of a Decider.

    Where the core's own norm has been applied to the state already (core_norm = "fed-back"), there is none.
    """

    def __init__(self, config: Any, *, detach: bool, bias: float, zero: bool) -> None:
        super().__init__()
        normed = config.core_norm == "fed-back"
        self.norm = nn.Identity() if normed else nn.RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.out = nn.Linear(config.hidden_size, 1, bias=True)
        self.detach = detach
        self.bias, self.zero = bias, zero

    def start(self) -> None:
        """Set the bias, and the matrix to zeros if so asked."""
        nn.init.constant_(self.out.bias, self.bias)
        if self.zero:
            nn.init.zeros_(self.out.weight)

    def forward(self, h: Float[Tensor, "*tokens dim"]) -> Float[Tensor, "*tokens 1"]:
        """Return the halting logit of every token."""
        x = (h.detach() if self.detach else h).to(self.out.weight.dtype)
        with torch.autocast(h.device.type, enabled=False):
            logits: Tensor = self.out(self.norm(x))
        return exits.at_least_float32(logits)

    def flops(self) -> int:
        """Return twice the multiply-adds of one decision."""
        return 2 * self.out.in_features

    def float32_flops(self) -> int:
        """Return how much of that stays in float32 under autocast: all."""
        return self.flops()


class HazardPolicy(ComputePolicy):
    """Merges, then decides from the new state; a subclass makes `decider`, and says who runs and what it costs."""

    timing = "online"
    rules = DISTRIBUTION_RULES
    default_rule = "median"
    beyond_max_depth = True
    decider: Decider | LinearGate

    def init_weights(self) -> None:
        """Start the decider as its options say."""
        self.decider.start()

    @abstractmethod
    def begin(self, h0: Tensor, ctx: Context) -> Any:
        """Return the books."""

    def update(self, depth: int, h: Tensor, candidate: Tensor, route: Route, state: Any) -> Tensor:
        """Merge, then decide from the new state who goes on; after the last iteration there is nothing to decide."""
        h = passthrough(h, candidate, route)
        state.decide(depth, h, self.decider(h)[..., 0] if depth < state.max_depth else None)
        return h

    def readout(self, h: Tensor, state: Any) -> Readout:
        """Return the exit state; under the mode rule the most likely one, which may be an earlier one (virtual)."""
        return super().readout(h if state.best_state is None else state.best_state, state)

    def allocation(self, state: Any) -> Allocation:
        """Return depth and distribution; under the mode rule the depth is the mode's."""
        if state.halt_logits is None:
            return Allocation(state.exit_depth)
        log_q = state.log_probs()
        return Allocation(state.exit_depth, log_q, exits.expected_depth(log_q))

    def decision_flops(self) -> int:
        """Return the cost of the decider."""
        return self.decider.flops()

    def float32_flops(self) -> int:
        """Return the cost of what the decider multiplies in float32 under autocast."""
        return self.decider.float32_flops()

    def num_decisions(self, executed: Int[Tensor, "*tokens"], max_depth: int) -> Int[Tensor, "*tokens"]:
        """One decision after each iteration but the last possible one."""
        return executed.clamp(max=max_depth - 1)


@dataclass
class UnrolledState(HazardState):
    """The books, and in training the states after all iterations so far."""

    states: list[Float[Tensor, "*tokens dim"]] | None


class UnrolledPolicy(HazardPolicy):
    """Trains on the sum of q(d) times the loss at depth d, without any freezing; halts everywhere else.

    With forced depths there is one state to read out in training too: that of the forced depth.
    """

    def begin(self, h0: Tensor, ctx: Context) -> UnrolledState:
        """Start the books; noise samples exits, but not in training, which takes the expectation."""
        unrolled = ctx.training and ctx.forced_depth is None
        noise = None if ctx.training else ctx.noise
        return UnrolledState.start(h0, ctx, noise, probs=ctx.probs or unrolled, states=[] if unrolled else None)

    def route(self, depth: int, h: Tensor, state: UnrolledState) -> Route:
        """Run who is alive, in training everyone."""
        return Route(state.alive if state.states is None else torch.ones_like(state.alive))

    def update(self, depth: int, h: Tensor, candidate: Tensor, route: Route, state: UnrolledState) -> Tensor:
        """Merge and decide; in training also keep the state."""
        h = super().update(depth, h, candidate, route, state)
        if state.states is not None:
            state.states.append(h)
        return h

    def readout(self, h: Tensor, state: UnrolledState) -> Readout:
        """Return the exit state; in training all states, weighted by q(d), the exit's being the answer."""
        if state.states is None:
            return super().readout(h, state)
        weights = state.log_probs().exp().movedim(-1, 0)
        return Readout(torch.stack(state.states), weights, chosen=state.exit_depth - 1)
