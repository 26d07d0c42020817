"""Mixture-of-Recursions, token choice: a router picks the depth of each token at once (Bae et al. 2025, section 2.2.1).

Decided where the paper is silent or the released code contradicts it:
- Iterations are not gated. What is read out is h0 + g * h, as released: h is the state at the exit, g the router's
  probability of that depth, h0 the prelude's output.
- The depth is the most likely one, in training too: gradient reaches the router through g and the balancing loss.
- The balancing loss is D * sum of f_i P_i over the whole global batch, however it is cut: f_i is the share of tokens
  with depth i, P_i the mean probability of i. Balance "bias" moves a bias instead, which is added where depths are
  chosen and nowhere else, by `bias_rate` times the sign of what a depth lacks (after each optimizer step).
- Fewer iterations on offer than the model has: who would go deeper stops there, and the probabilities of all that lies
  beyond are added up.
- Where depths are forced, g is the probability of the forced depth.
- `keys` as in expert choice.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import one_hot

from anira.config import UserError
from anira.models import exits
from anira.models.policies.base import Allocation, ComputePolicy, Context, Readout, Route, State
from anira.models.policies.mor_expert import Keys, check_keys
from anira.models.policies.routing import Router
from anira.models.policies.task_loss import TaskLoss


@dataclass(frozen=True, kw_only=True)
class MorTokenOptions:
    """Options of Mixture-of-Recursions with token choice."""

    balance: Literal["loss", "bias", "none"] = "loss"
    """What keeps depths equally frequent: a loss, a bias that moves, or nothing."""
    coefficient: float = 0.1
    """Weight of the balancing loss."""
    bias_rate: float = 0.001
    """How far the bias moves after an optimizer step."""
    z_coefficient: float = 1e-5
    """Weight of the squared logarithm of the softmax's denominator, which keeps logits small."""
    keys: Keys = "recursion"
    """Whose keys an iteration sees: recursion (those who run it) or all."""

    def __post_init__(self) -> None:
        for name in ("coefficient", "bias_rate", "z_coefficient"):
            if getattr(self, name) < 0:
                raise UserError(f"{name} must be at least 0, not {getattr(self, name)}")


@dataclass
class MorTokenState(State):
    """The prelude's output, the chosen depth, and how likely the depth to read out was."""

    h0: Float[Tensor, "*tokens dim"]
    logits: Float[Tensor, "*tokens depth"]
    log_q: Float[Tensor, "*tokens offered"]
    choice: Int[Tensor, "*tokens"]
    """The most likely depth, whether or not it is on offer."""
    exit_depth: Int[Tensor, "*tokens"]
    gate: Float[Tensor, "*tokens"]


class MorToken(ComputePolicy):
    """Depth is the largest of D logits of the prelude's output; its probability scales what is read out."""

    name = "mor-token"
    Options = MorTokenOptions
    timing = "early"

    bias: Tensor

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        check_keys(self.options.keys, config)
        self.router = Router(config, config.max_depth)
        self.register_buffer("bias", torch.zeros(config.max_depth))
        self.uses_global_means = self.options.balance != "none"

    def init_weights(self) -> None:
        """Start without a bias."""
        nn.init.zeros_(self.bias)

    def begin(self, h0: Tensor, ctx: Context) -> MorTokenState:
        """Choose every token's depth, and find the gate of the depth that it will really get."""
        logits = self.router(h0)
        log_q = exits.cap_depth(torch.log_softmax(logits, dim=-1), ctx.max_depth)
        choice = (logits + self.bias).argmax(-1) + 1
        exit_depth = choice.clamp(max=ctx.max_depth)
        real = exit_depth if ctx.forced_depth is None else ctx.forced_depth
        gate = log_q.gather(-1, real.unsqueeze(-1) - 1)[..., 0].exp()
        return MorTokenState(h0, logits, log_q, choice, exit_depth, gate)

    def route(self, depth: int, h: Tensor, state: MorTokenState) -> Route:
        """Run the tokens whose depth is not reached."""
        run = state.exit_depth >= depth
        return Route(run, see=run if self.options.keys == "recursion" else None)

    def readout(self, h: Tensor, state: MorTokenState) -> Readout:
        """Return the gated state on top of the prelude's output."""
        return super().readout(state.h0 + state.gate.to(h.dtype).unsqueeze(-1) * h, state)

    def loss(self, state: MorTokenState, task: TaskLoss) -> dict[str, Tensor]:
        """Return the balancing loss, if that is how depths are balanced, and the loss on large logits."""
        options, num_depths = self.options, state.logits.shape[-1]
        total = options.z_coefficient * task.mean_over_valid(torch.logsumexp(state.logits, dim=-1) ** 2)
        losses = {"z": total}
        if options.balance != "none":
            chosen = one_hot(state.choice - 1, num_depths).to(state.logits.dtype)
            load = task.global_mean("load", chosen)  # the bias wants to know it after the step
            if options.balance == "loss":
                together = (load * torch.softmax(state.logits, dim=-1)).sum(-1)
                losses["balance"] = options.coefficient * num_depths * task.mean_over_valid(together)
        return losses

    def allocation(self, state: MorTokenState) -> Allocation:
        """Return depth and the router's distribution."""
        return Allocation(state.exit_depth, state.log_q, exits.expected_depth(state.log_q))

    @torch.no_grad()
    def after_step(self, means: Mapping[str, Tensor]) -> None:
        """Move the bias towards depths that were chosen too rarely."""
        if self.options.balance == "bias":
            load = means["load"].to(self.bias)
            self.bias += self.options.bias_rate * torch.sign(load.mean() - load)

    def decision_flops(self) -> int:
        """Return the cost of the router."""
        return self.router.flops()

    def num_decisions(self, executed: Int[Tensor, "*tokens"], max_depth: int) -> Int[Tensor, "*tokens"]:
        """One decision per token."""
        return torch.ones_like(executed)
