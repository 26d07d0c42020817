"""Halting by a sum of mass, and a mixture of states as output: what ACT and the Universal Transformer share.

Iteration n adds halt_prob p(n); a token halts at the first N where the sum reaches 1 - epsilon, or at max_depth. The
state after n < N has weight p(n) in the mixture and the last one the remainder R = 1 - p(1) - .. - p(N-1), so that
weights add up to 1. The ponder cost is tau (N + R): N has no gradient, and R has -1 by each of p(1) .. p(N-1).

Keys and values come from the states, only the readout from the mixture. It depends on nothing but what a token has
executed, so training, evaluation and virtual exits read out the same. Forced depths: a token that must stop takes the
remainder there; one that must go on beyond its own halt can add no more than the mass that is left.

The start matters. A halt_prob near .7 (bias 1, Graves' and tensor2tensor's) halts everyone after two iterations, the
gradient of the ponder cost raises it further, and deeper states, which nobody visits, are never learned. The default
bias of -1 starts with four iterations of nearly equal weight; -3 starts at max_depth, unless that is above 20, with
most of the weight on the last state.
"""

from dataclasses import dataclass
from typing import Any, Self

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from anira.config import UserError
from anira.models.exits import at_least_float32
from anira.models.policies.base import Allocation, ComputePolicy, Context, Readout, State
from anira.models.policies.decider import Decider
from anira.models.policies.task_loss import TaskLoss


@dataclass(frozen=True, kw_only=True)
class MassOptions:
    """Options that ACT and the Universal Transformer share."""

    tau: float = 0.01
    """Weight of the ponder cost."""
    epsilon: float = 0.01
    """A token halts once its halting mass has reached 1 - epsilon; else it could never halt at the first iteration."""
    bias: float = -1.0
    """Initial bias of the halting logit; 0 and more start so shallow that training may never leave it, -3 deep."""
    detach: bool = False
    """Cut the gradient from the decider into the core."""
    zero_start: bool = False
    """Start with a last matrix of zeros: the first halt_prob is the same for every token, that of the bias."""

    def __post_init__(self) -> None:
        if self.tau < 0:
            raise UserError(f"tau must be at least 0, not {self.tau}")
        if not 0 <= self.epsilon < 1:
            raise UserError(f"epsilon must lie in [0, 1), not {self.epsilon}")


@dataclass
class MassState(State):
    """Halting mass so far, who goes on, and the mixture of the states so far."""

    mass: Float[Tensor, "*tokens"]
    """The weights of all iterations before the last one."""
    remainder: Float[Tensor, "*tokens"]
    alive: Bool[Tensor, "*tokens"]
    exit_depth: Int[Tensor, "*tokens"]
    mean_depth: Float[Tensor, "*tokens"]
    mixture: Float[Tensor, "*tokens dim"]
    weight: Float[Tensor, "*tokens"]
    """Of the present iteration's state."""
    forced_depth: Int[Tensor, "*tokens"] | None
    max_depth: int
    stays_own: bool
    """Whether forced depths only end what is decided, and do not replace it."""

    @classmethod
    def start(cls, h0: Tensor, ctx: Context, *, stays_own: bool = False, **own: Any) -> Self:
        """Return a state without any mass; `own`: fields that a subclass adds."""
        zero = torch.zeros_like(at_least_float32(h0[..., 0]))
        return cls(
            mass=zero,
            remainder=zero.clone(),
            alive=torch.ones_like(zero, dtype=torch.bool),
            exit_depth=torch.zeros_like(zero, dtype=torch.long),
            mean_depth=zero.clone(),
            mixture=torch.zeros_like(at_least_float32(h0)),
            weight=zero.clone(),
            # A copy, because depths may be one number spread over all tokens, and states are written in place.
            forced_depth=None if ctx.forced_depth is None else ctx.forced_depth.clone(),
            max_depth=ctx.max_depth,
            stays_own=stays_own,
            **own,
        )

    def weigh(self, depth: int, halt_prob: Float[Tensor, "*tokens"] | None, epsilon: float) -> None:
        """Set the weight of the state after iteration `depth`, and note who goes on; None: nobody can."""
        left = 1 - self.mass
        if halt_prob is None:
            last, weight = torch.ones_like(self.alive), left
        else:
            last = self.mass + halt_prob >= 1 - epsilon
            if self.forced_depth is not None:
                ends = self.forced_depth <= depth
                last = ends | last if self.stays_own else ends
                halt_prob = torch.minimum(halt_prob, left)
            weight = torch.where(last, left, halt_prob)
        self.weight = torch.where(self.alive, weight, 0.0)
        self.exit_depth = self.exit_depth + self.alive
        self.mean_depth = self.mean_depth + depth * self.weight
        self.remainder = torch.where(last, self.remainder + self.weight, self.remainder)
        self.mass = torch.where(last, self.mass, self.mass + self.weight)
        self.alive = self.alive & ~last

    def mix(self, h: Float[Tensor, "*tokens dim"]) -> None:
        """Add the state after the present iteration to the mixture."""
        self.mixture = self.mixture + self.weight.unsqueeze(-1) * h.to(self.mixture.dtype)


class MassPolicy(ComputePolicy):
    """Reads out the mixture and charges the ponder cost; a subclass says when to weigh."""

    timing = "online"
    beyond_max_depth = True

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        options = self.options
        self.decider = Decider(config, 1, detach=options.detach, bias=options.bias, zero=options.zero_start)

    def init_weights(self) -> None:
        """Start the decider as its options say."""
        self.decider.start()

    def halt_prob(self, h: Float[Tensor, "*tokens dim"]) -> Float[Tensor, "*tokens"]:
        """Return the halting mass that states add."""
        return torch.sigmoid(self.decider(h)[..., 0])

    def readout(self, h: Tensor, state: MassState) -> Readout:
        """Return the mixture."""
        return super().readout(state.mixture.to(h.dtype), state)

    def loss(self, state: MassState, task: TaskLoss) -> dict[str, Tensor]:
        """Return tau times the mean of N + R over valid tokens."""
        return {"ponder": self.options.tau * task.scale * task.mean_over_valid(state.exit_depth + state.remainder)}

    def allocation(self, state: MassState) -> Allocation:
        """Return N, and the mean depth under the weights; these are no probabilities of an exit."""
        return Allocation(state.exit_depth, expected_depth=state.mean_depth)

    def decision_flops(self) -> int:
        """Return the cost of the decider."""
        return self.decider.flops()

    def float32_flops(self) -> int:
        """Return the cost of the decider's last matrix."""
        return self.decider.float32_flops()

    def num_decisions(self, executed: Int[Tensor, "*tokens"], max_depth: int) -> Int[Tensor, "*tokens"]:
        """One decision for each iteration but the last possible one."""
        return executed.clamp(max=max_depth - 1)
