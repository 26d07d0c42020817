"""CALM: exit once a measure of confidence passes a threshold (Schuster et al. 2022, sections 3.3 to 3.5 and 4).

Training has two stages. In the first, everyone runs all iterations, and the cross-entropies after each are averaged
with weights d / (1 + ... + D), as released. In the second, with `confidence = "classifier"` on the weights of the
first (`--init-from RUN --frozen backbone`), a linear classifier learns where the prediction is already the last one.

Decided where the paper is silent or the released code contradicts it:
- States are read by the head alone in training and decoding alike, because a confidence that looks through coda layers
  is not exact while others run. Coda layers are skipped: build the model without.
- Exits are per token. The released code lets a batch exit together.
- The cosine is there after the first iteration too, against the state before it; the released code does not use it.
- One classifier serves all iterations, because they share the core. It never moves the states that it reads. Its
  cross-entropy gives both classes equal weight at each iteration, counted over the global batch.
- The threshold that falls with the position is the paper's, 0.9 t + 0.1 exp(-decay * position / N); the released code
  multiplies the second part by t too. The policy does not know where the answer begins or ends: the position is that in
  the row, and N is `max_position_embeddings`.
- What thresholds are good for is measured by `anira.inference.calibration`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from anira.config import UserError
from anira.models.exits import at_least_float32
from anira.models.policies.base import Allocation, ComputePolicy, Context, Readout, Route, State, passthrough
from anira.models.policies.confidence import head_confidence
from anira.models.policies.routing import Router
from anira.models.policies.rules import ChosenRule, ThresholdRange, choose_rule
from anira.models.policies.task_loss import TaskLoss


@dataclass(frozen=True, kw_only=True)
class CalmOptions:
    """Options of CALM."""

    confidence: Literal["margin", "cosine", "classifier"] = "margin"
    """What decides unless the caller says otherwise; classifier: training is the second stage."""
    decay: float = 0.0
    """How fast the threshold falls with the position (the paper's tau, there 4); 0: it does not."""

    def __post_init__(self) -> None:
        if self.decay < 0:
            raise UserError(f"decay must be at least 0 (a threshold that does not fall), not {self.decay}")


@dataclass
class CalmState(State):
    """Who goes on, how deep each token is; in training the states after all iterations."""

    alive: Bool[Tensor, "*tokens"]
    exit_depth: Int[Tensor, "*tokens"]
    threshold: Float[Tensor, "*tokens"]
    head: Callable[[Tensor], Tensor] | None
    rule: str
    max_depth: int
    states: list[Tensor] | None
    """None outside of training, where tokens exit instead."""


class Calm(ComputePolicy):
    """Trained to answer after every iteration; exits where the confidence reaches the threshold."""

    name = "calm"
    Options = CalmOptions
    timing = "online"
    rules = {  # noqa: RUF012 (declared by the base class)
        "margin": ThresholdRange(low=0.0, high=1.0, default=0.9),
        "cosine": ThresholdRange(low=-1.0, high=1.0, default=0.95),
        "classifier": ThresholdRange(low=0.0, high=1.0, default=0.5),
    }
    default_rule = "margin"
    beyond_max_depth = True

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        learns = self.options.confidence == "classifier"
        self.classifier = Router(config, bias=True, detach=True) if learns else None
        if not learns:
            self.rules = {name: bounds for name, bounds in self.rules.items() if name != "classifier"}
        self.uses_global_means = learns
        self.first_stage = "a model that was trained to answer after every iteration" if learns else ""
        self._longest = config.max_position_embeddings
        size = config.hidden_size
        head, cosine = 2 * size * config.vocab_size, 3 * 2 * size
        costs = {"margin": head, "cosine": cosine, "classifier": 2 * size}
        self._flops: int = costs[self.options.confidence]

    def rule(self, select: str | None = None, threshold: float | None = None) -> ChosenRule:
        """Return the rule of the call, or that of the options; a classifier must have been trained."""
        if select == "classifier" and self.classifier is None:
            raise UserError(
                "this model has no exit classifier: train one from it with --policy.confidence classifier, "
                "--init-from RUN and --frozen backbone"
            )
        return choose_rule(self.name, self.rules, self.options.confidence, select, threshold)

    def begin(self, h0: Tensor, ctx: Context) -> CalmState:
        """Everyone goes on; find the threshold of every token."""
        like = at_least_float32(h0[..., 0])
        threshold = torch.full_like(like, 1.0 if ctx.threshold is None else ctx.threshold)
        bounds = self.rules[ctx.select]
        if self.options.decay and bounds is not None:
            fall = torch.exp(-self.options.decay / self._longest * ctx.positions.to(like.dtype))
            threshold = (0.9 * threshold + 0.1 * fall).clamp(bounds.low, bounds.high)
        return CalmState(
            alive=torch.ones_like(like, dtype=torch.bool),
            exit_depth=torch.zeros_like(ctx.positions),
            threshold=threshold,
            head=ctx.head,
            rule=ctx.select,
            max_depth=ctx.max_depth,
            states=[] if ctx.training else None,
        )

    def route(self, depth: int, h: Tensor, state: CalmState) -> Route:
        """Run who is alive: in training everyone."""
        return Route(state.alive)

    def update(self, depth: int, h: Tensor, candidate: Tensor, route: Route, state: CalmState) -> Tensor:
        """Keep the new state in training, elsewhere see who is sure enough of it to exit."""
        after = passthrough(h, candidate, route)
        state.exit_depth = state.exit_depth + state.alive
        if state.states is not None:
            state.states.append(after)
        elif depth < state.max_depth:
            state.alive = state.alive & (self._confidence(h, after, state) < state.threshold)
        return after

    def _confidence(self, before: Tensor, h: Tensor, state: CalmState) -> Float[Tensor, "*tokens"]:
        if state.rule == "cosine":
            return torch.cosine_similarity(at_least_float32(before), at_least_float32(h), dim=-1)
        if state.rule == "classifier":
            assert self.classifier is not None
            return torch.sigmoid(self.classifier(h)[..., 0])
        assert state.head is not None
        return head_confidence(state.head(h), "margin")

    def readout(self, h: Tensor, state: CalmState) -> Readout:
        """Return the state at the exit, in training all states with weights that grow with depth."""
        if state.states is None:
            return Readout(h[None], torch.ones_like(h[None, ..., 0]), through="head")
        states = torch.stack(state.states)
        depths = torch.arange(1, len(states) + 1, device=h.device).to(h.dtype)
        weights = (depths / depths.sum()).view(-1, *[1] * (h.dim() - 1)).expand(states.shape[:-1])
        return Readout(states, weights, chosen=state.exit_depth - 1, through="head")

    def loss(self, state: CalmState, task: TaskLoss) -> dict[str, Tensor]:
        """Return the classifier's cross-entropy: is the prediction after each iteration already the last one?"""
        if self.classifier is None or state.states is None or len(state.states) < 2:
            return {}
        found = task.predicted()
        agrees = (found[:-1] == found[-1]).movedim(0, -1)
        logits = self.classifier(torch.stack(state.states[:-1], dim=-2))[..., 0]
        classes = torch.cat([agrees, ~agrees], dim=-1) & task.answer_mask.unsqueeze(-1)
        counts = task.global_mean("classes", classes.to(logits.dtype)).view(2, -1)
        # Each class gets the same weight in all, and weights are 1 on average; one that does not occur gets none.
        weights = counts.sum(0) / ((counts > 0).sum(0) * counts).clamp(min=torch.finfo(counts.dtype).tiny)
        wrong = binary_cross_entropy_with_logits(logits, agrees.to(logits.dtype), reduction="none")
        balanced = torch.where(agrees, weights[0], weights[1]) * wrong
        return {"classifier": task.mean_over_answers(balanced.mean(-1))}

    def allocation(self, state: CalmState) -> Allocation:
        """Return the depth."""
        return Allocation(state.exit_depth)

    def decision_flops(self) -> int:
        """Return the cost of the options' own measure: the head, three dot products, or one."""
        return self._flops

    def float32_flops(self) -> int:
        """Return the same but for the head, which runs in the model's own format."""
        return 0 if self.options.confidence == "margin" else self._flops

    def num_decisions(self, executed: Int[Tensor, "*tokens"], max_depth: int) -> Int[Tensor, "*tokens"]:
        """One measurement after each iteration but the last possible one."""
        return executed.clamp(max=max_depth - 1)
