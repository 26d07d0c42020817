"""Confidence: any trained model exits as soon as its head is sure (the baselines of Schuster et al. 2022, section 3.5).

The policy has no weights, so those of any trained run load into a model that has it, and it learns nothing: in training
everyone runs all iterations, as under "fixed". Confidence is that of the head alone on the present state, which is
exact in every execution. In a model with coda layers this reads states that the head was not trained on; the answer
still goes through the coda, as in training.

All rules point the same way: a token exits once its confidence reaches the threshold, so a higher threshold is deeper.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from anira.models.exits import at_least_float32
from anira.models.policies.base import Allocation, ComputePolicy, Context, Route, State, passthrough
from anira.models.policies.rules import ThresholdRange


def head_confidence(logits: Float[Tensor, "*tokens vocab"], rule: str) -> Float[Tensor, "*tokens"]:
    """Return how sure a prediction is, from 0 to 1.

    margin: the largest probability minus the second; max-prob: the largest; entropy: 1 - H / log(vocabulary).

    >>> head_confidence(torch.tensor([0.5, 0.25, 0.25]).log(), "margin")
    tensor(0.2500)
    """
    log_probs = torch.log_softmax(at_least_float32(logits), dim=-1)
    if rule == "max-prob":
        return log_probs.amax(-1).exp()
    if rule == "margin":
        best: Tensor = log_probs.topk(2, dim=-1).values.exp()
        return best[..., 0] - best[..., 1]
    entropy: Tensor = torch.special.entr(log_probs.exp()).sum(-1)
    return 1 - entropy / math.log(log_probs.shape[-1])


@dataclass(frozen=True, kw_only=True)
class ConfidenceOptions:
    """Nothing to choose: rule and threshold belong to the call."""


@dataclass
class ConfidenceState(State):
    """Who goes on, and how deep each token is."""

    alive: Bool[Tensor, "*tokens"]
    exit_depth: Int[Tensor, "*tokens"]
    head: Callable[[Tensor], Tensor] | None
    """None in training, where nobody exits."""
    rule: str
    threshold: float
    max_depth: int


class Confidence(ComputePolicy):
    """Exit once the head's prediction from the present state is sure enough."""

    name = "confidence"
    Options = ConfidenceOptions
    timing = "online"
    rules = {  # noqa: RUF012 (declared by the base class)
        "margin": ThresholdRange(low=0.0, high=1.0, default=0.9),
        "entropy": ThresholdRange(low=0.0, high=1.0, default=0.9),
        "max-prob": ThresholdRange(low=0.0, high=1.0, default=0.9),
    }
    default_rule = "margin"
    beyond_max_depth = True

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self._head_flops: int = 2 * config.hidden_size * config.vocab_size

    def begin(self, h0: Tensor, ctx: Context) -> ConfidenceState:
        """Everyone goes on."""
        alive = torch.ones_like(ctx.positions, dtype=torch.bool)
        threshold = 1.0 if ctx.threshold is None else ctx.threshold
        head = None if ctx.training else ctx.head
        return ConfidenceState(alive, torch.zeros_like(ctx.positions), head, ctx.select, threshold, ctx.max_depth)

    def route(self, depth: int, h: Tensor, state: ConfidenceState) -> Route:
        """Run who is alive."""
        return Route(state.alive)

    def update(self, depth: int, h: Tensor, candidate: Tensor, route: Route, state: ConfidenceState) -> Tensor:
        """Ask the head about the new state; after the last iteration there is nothing to decide."""
        h = passthrough(h, candidate, route)
        state.exit_depth = state.exit_depth + state.alive
        if state.head is not None and depth < state.max_depth:
            state.alive = state.alive & (head_confidence(state.head(h), state.rule) < state.threshold)
        return h

    def allocation(self, state: ConfidenceState) -> Allocation:
        """Return the depth."""
        return Allocation(state.exit_depth)

    def decision_flops(self) -> int:
        """Return the cost of the head."""
        return self._head_flops

    def float32_flops(self) -> int:
        """Return 0: the head runs in the model's own format."""
        return 0

    def num_decisions(self, executed: Int[Tensor, "*tokens"], max_depth: int) -> Int[Tensor, "*tokens"]:
        """One call of the head after each iteration but the last possible one."""
        return executed.clamp(max=max_depth - 1)
