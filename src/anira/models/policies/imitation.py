"""A halting head that imitates an oracle of the loss: what Think-at-Hard and the oracle head share.

In training everyone runs all iterations, the state after each one is read out with equal weights, and the head after
each iteration learns what an oracle that knows the answers would do there. Afterwards a token halts once the head's
halt_prob exceeds a threshold, from the floor on.

Oracles of a token's own loss are blind to what a prompt token computes for others: it has no loss, so there is nothing
to imitate. At inference nobody says which tokens are the prompt's, so the head must be told something about them:

- prompt = "mean", the default: the mean of the oracle over the answers of the global batch. Prompt tokens then run
  about as deep as answers do, all alike, which leaves answers much of what they saw in training.
- prompt = "floor": halt at the floor, which is what the oracle of a token without loss would say.
- prompt = "none": nothing; what the head makes of prompt tokens is left to chance, as in Think-at-Hard's code.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from anira.config import UserError
from anira.models.policies.base import Allocation, ComputePolicy, Context, Readout, Route, State, passthrough
from anira.models.policies.decider import Decider
from anira.models.policies.rules import ThresholdRange
from anira.models.policies.task_loss import TaskLoss


@dataclass(frozen=True, kw_only=True)
class ImitationOptions:
    """Options of a head that imitates an oracle."""

    floor: int = 1
    """Iterations that every token runs."""
    prompt: Literal["mean", "floor", "none"] = "mean"
    """What the head learns about tokens that predict no answer."""
    weight: float = 1.0
    """Weight of the head's loss."""
    detach: bool = True
    """Cut the gradient from the head into the core: joint training is said to damage it (arXiv 2607.20519)."""

    def __post_init__(self) -> None:
        if self.floor < 1:
            raise UserError(f"floor must be at least 1, not {self.floor}: everyone runs once")
        if self.weight < 0:
            raise UserError(f"weight must be at least 0, not {self.weight}")


@dataclass
class ImitationState(State):
    """Who is alive by the head's own decisions; in training also all states and all halting logits."""

    alive: Bool[Tensor, "*tokens"]
    exit_depth: Int[Tensor, "*tokens"]
    states: list[Float[Tensor, "*tokens dim"]] | None
    logits: list[Float[Tensor, "*tokens"]]
    level: float
    """halt_prob from which on a token halts."""
    max_depth: int
    forced: bool


class Imitation(ComputePolicy):
    """Trained at every depth for everyone, then halts where its head says so; a subclass has the oracle."""

    timing = "online"
    rules = {"threshold": ThresholdRange(low=0.0, high=1.0, default=0.5)}  # noqa: RUF012 (as the interface declares it)
    default_rule = "threshold"
    beyond_max_depth = True

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        if self.options.floor > config.max_depth:
            raise UserError(f"floor {self.options.floor} is beyond the model's max_depth {config.max_depth}")
        self.decider = Decider(config, 1, detach=self.options.detach, bias=0.0, zero=False)
        self.uses_global_means = self.options.prompt == "mean"

    @abstractmethod
    def halts(self, task: TaskLoss) -> Bool[Tensor, "depths *tokens"]:
        """Return whether the oracle would halt after each iteration, at tokens that predict an answer."""

    def decides(self, depth: int) -> bool:
        """Say whether anything is decided after an iteration."""
        floor: int = self.options.floor
        return depth >= floor

    def init_weights(self) -> None:
        """Start the head's bias at zero."""
        self.decider.start()

    def begin(self, h0: Tensor, ctx: Context) -> ImitationState:
        """Start with everyone alive."""
        return ImitationState(
            alive=torch.ones_like(ctx.positions, dtype=torch.bool),
            exit_depth=torch.zeros_like(ctx.positions),
            states=[] if ctx.training else None,
            logits=[],
            level=0.5 if ctx.threshold is None else ctx.threshold,
            max_depth=ctx.max_depth,
            forced=ctx.forced_depth is not None,
        )

    def route(self, depth: int, h: Tensor, state: ImitationState) -> Route:
        """Run who is alive; in training everyone."""
        return Route(state.alive if state.states is None else torch.ones_like(state.alive))

    def update(self, depth: int, h: Tensor, candidate: Tensor, route: Route, state: ImitationState) -> Tensor:
        """Merge, and ask the head who goes on."""
        after = passthrough(h, candidate, route)
        state.exit_depth = state.exit_depth + state.alive
        if state.states is not None:
            state.states.append(after)
        if depth < state.max_depth and self.decides(depth):
            logit = self.decider(after)[..., 0]
            state.alive = state.alive & (torch.sigmoid(logit) < state.level)
            if state.states is not None:
                state.logits.append(logit)
        return after

    def readout(self, h: Tensor, state: ImitationState) -> Readout:
        """Return all states in training, with the head's choice among them; otherwise the state at the exit."""
        if state.states is None:
            return super().readout(h, state)
        states = torch.stack(state.states)
        weights = torch.full_like(states[..., 0], 1 / len(states))
        return Readout(states, weights, None if state.forced else state.exit_depth - 1)

    def loss(self, state: ImitationState, task: TaskLoss) -> dict[str, Tensor]:
        """Return the cross-entropy of the head's decisions with the oracle's, a mean over decisions and tokens."""
        if not state.logits:
            return {"imitation": task.ce.sum() * 0.0}
        logits = torch.stack(state.logits, dim=-1)
        made = [depth - 1 for depth in range(1, state.max_depth) if self.decides(depth)]
        with torch.no_grad():
            oracle = self.halts(task)[made].movedim(0, -1).to(logits.dtype)
            target = torch.where(task.answer_mask.unsqueeze(-1), oracle, self._for_prompts(oracle, task))
        each = binary_cross_entropy_with_logits(logits, target, reduction="none").mean(-1)
        total = task.mean_over_answers(each)
        if self.options.prompt != "none":
            total = total + task.mean_over_valid(each.masked_fill(task.answer_mask, 0.0))
        return {"imitation": self.options.weight * total}

    def _for_prompts(self, oracle: Float[Tensor, "*tokens decisions"], task: TaskLoss) -> Tensor:
        """Return what the head learns about prompt tokens: the mean over answers, or to halt."""
        if self.options.prompt != "mean":
            return torch.ones_like(oracle)
        answers = task.answer_mask.unsqueeze(-1).to(oracle.dtype)
        means = task.global_mean("oracle", torch.cat([oracle * answers, answers], dim=-1))
        return (means[:-1] / means[-1].clamp(min=1e-12)).expand_as(oracle)

    def allocation(self, state: ImitationState) -> Allocation:
        """Return the depths; halting decisions are no distribution here."""
        return Allocation(state.exit_depth)

    def decision_flops(self) -> int:
        """Return the cost of the head."""
        return self.decider.flops()

    def float32_flops(self) -> int:
        """Return the cost of the head's last matrix."""
        return self.decider.float32_flops()

    def num_decisions(self, executed: Int[Tensor, "*tokens"], max_depth: int) -> Int[Tensor, "*tokens"]:
        """One after each iteration from the floor on, but the last possible one."""
        made = torch.tensor([depth for depth in range(1, max_depth) if self.decides(depth)], device=executed.device)
        return (executed.unsqueeze(-1) >= made).sum(-1)
