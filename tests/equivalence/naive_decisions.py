"""How one token decides its depth, by the paper's equations, and what its decision costs in the loss.

A decision answers `weight(depth)` before each iteration and reads the new state in `observe` after it. Weights are 0 or
1; in training they carry the gradient of a soft surrogate (straight-through).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Ask:
    """How one token is to decide: by noise (training), by a rule, or for nothing, because its depth is forced."""

    max_depth: int
    select: str | None = None
    threshold: float | None = None
    noise: list[float] | None = None
    forced: int | None = None


class Decision:
    """A depth that is known beforehand: the fixed policy, or one forced from outside."""

    probs: list[Tensor] | None = None
    """q(1) .. q(D), where the policy has a distribution."""

    def __init__(self, depth: int) -> None:
        self.executed = self.exit_depth = depth
        self.states: list[Tensor] = []

    def weight(self, depth: int) -> Tensor | float:
        return float(depth <= self.executed)

    def observe(self, depth: int, state: Tensor) -> None:
        self.states.append(state)

    @property
    def exit_state(self) -> Tensor:
        """The frozen state after all iterations: it equals the one at the exit, and carries the gradient of weights."""
        return self.states[-1] if self.exit_depth == self.executed else self.states[self.exit_depth - 1]


class EarlyDecision(Decision):
    """ANIRA-E: q is a softmax of the prelude's output, and a depth beyond the iterations on offer gets the last one."""

    def __init__(self, ask: Ask, logits: Tensor, temperature: float, lookahead: str) -> None:
        probs, self.lookahead = list(softmax(logits)), lookahead
        self.soft: Tensor | None = None
        if ask.forced is not None:
            depth = ask.forced
        elif ask.noise is None:
            depth = chosen(values(probs), ask.select or "mode", ask.threshold)
        else:
            perturbed = logits + torch.tensor([-math.log(-math.log(u)) for u in ask.noise], dtype=torch.float64)
            self.soft = softmax(perturbed / temperature)
            depth = 1 + int(perturbed.argmax())
        super().__init__(min(depth, ask.max_depth))
        self.probs = capped(probs, ask.max_depth)

    def weight(self, depth: int) -> Tensor | float:
        hard = float(depth <= self.executed)
        if self.soft is None or depth == 1 or looks_away(self.lookahead, depth, self.executed):
            return hard
        return straight_through(hard, self.soft[depth - 1 :].sum())


class OnlineDecision(Decision):
    """ANIRA-O: after each iteration but the last, the state gives the probability of halting there."""

    def __init__(self, ask: Ask, decider: Callable[[Tensor], Tensor], lookahead: str) -> None:
        super().__init__(depth=ask.max_depth if ask.forced is None else ask.forced)
        self.ask, self.decider, self.lookahead = ask, decider, lookahead
        self.rule = ask.select or "median"
        self.probs, self.left = [], [torch.ones((), dtype=torch.float64)]  # q(1), q(2) ..; r(0), r(1) ..
        self.level = {"median": 0.5, "quantile": ask.threshold}.get(self.rule)
        self.halted = ask.forced is not None

    def weight(self, depth: int) -> Tensor | float:
        hard = float(depth <= self.executed)
        if self.ask.noise is None or depth == 1 or looks_away(self.lookahead, depth, self.executed):
            return hard
        return straight_through(hard, self.left[depth - 1])

    def observe(self, depth: int, state: Tensor) -> None:
        super().observe(depth, state)
        if depth < self.ask.max_depth:
            self.read(depth, self.decider(state)[0])
        elif depth == self.ask.max_depth:
            self.conclude()

    def read(self, depth: int, logit: Tensor) -> None:
        """Split what is left into what exits here and what goes on; a halted token reads its frozen state again."""
        halt, go_on = 1 / (1 + torch.exp(-logit)), 1 / (1 + torch.exp(logit))
        self.probs.append(self.left[-1] * halt)
        self.left.append(self.left[-1] * go_on)
        if not self.halted and self.halts(depth, go_on.item()):
            self.halted, self.executed = True, depth

    def conclude(self) -> None:
        """Give the last iteration what is left. Under the mode rule, an earlier state may be the one read out."""
        self.probs.append(self.left[-1])
        self.exit_depth = self.executed
        if self.rule == "mode" and self.ask.noise is None and self.ask.forced is None:
            self.exit_depth = chosen(values(self.probs[: self.executed]), "mode", None)

    def halts(self, depth: int, go_on: float) -> bool:
        left = self.left[depth].item()
        if self.ask.noise is not None:
            return left <= self.ask.noise[0]
        if self.rule == "mode":  # what is left cannot exceed the largest probability so far
            return left <= max(values(self.probs))
        if self.rule == "mean":  # the sum of r(0), r(1) .. is the mean; here with the hazard as it is now
            ahead = [left * go_on**further for further in range(self.ask.max_depth - depth)]
            return rounded(sum(values(self.left[:depth])) + sum(ahead)) <= depth
        return left <= 1 - self.level


def decide(policy: dict[str, Any], ask: Ask, prelude: Tensor, decider: Callable[[Tensor], Tensor]) -> Decision:
    """Return the decision of one token, made already (ANIRA-E) or yet to be made (ANIRA-O)."""
    if policy["name"] == "fixed":
        return Decision(ask.max_depth if ask.forced is None else ask.forced)
    if policy["name"] == "anira-e":
        logits = decider(prelude)
        return EarlyDecision(ask, logits - logits.mean(), policy["temperature"], policy["lookahead"])
    return OnlineDecision(ask, decider, policy["lookahead"])


def chosen(probs: list[float], rule: str, threshold: float | None) -> int:
    """Return the depth that a rule picks from a whole distribution."""
    depths = range(1, len(probs) + 1)
    if rule == "mode":
        return max(depths, key=lambda depth: probs[depth - 1])
    if rule == "mean":
        return rounded(sum(depth * q for depth, q in zip(depths, probs, strict=True)))
    level = 0.5 if rule == "median" else threshold
    return next(depth for depth in depths if sum(probs[depth:]) <= 1 - level)


def values(scalars: list[Tensor]) -> list[float]:
    return [scalar.item() for scalar in scalars]


def rounded(x: float) -> int:
    return math.floor(x + 0.5)


def capped(probs: list[Tensor], max_depth: int) -> list[Tensor]:
    """Return the distribution of min(depth, max_depth)."""
    return [*probs[: max_depth - 1], torch.stack(probs[max_depth - 1 :]).sum()]


def softmax(logits: Tensor) -> Tensor:
    shares = torch.exp(logits - logits.max().detach())
    return shares / shares.sum()


def looks_away(lookahead: str, depth: int, executed: int) -> bool:
    """Say whether an iteration lies too far beyond the exit for the gradient to see it."""
    return lookahead == "one" and depth > executed + 1


def straight_through(hard: float, soft: Tensor) -> Tensor:
    return hard + (soft - soft.detach())


def kl_to_prior(probs: list[Tensor], base: float) -> Tensor:
    """Return KL(q || p) with p(d) proportional to base^-d on the iterations on offer (paper, section 3.2.1)."""
    prior = [base**-depth for depth in range(1, len(probs) + 1)]
    return sum(q * (torch.log(q) - math.log(p / sum(prior))) for q, p in zip(probs, prior, strict=True))


def cross_entropy(logits: Tensor, label: int) -> Tensor:
    highest = logits.max().detach()
    return highest + torch.log(torch.exp(logits - highest).sum()) - logits[label]
