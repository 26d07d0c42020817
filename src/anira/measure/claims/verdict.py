"""What several seeds together say about a claim."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from anira.measure.accuracy import Accuracy
from anira.measure.statistics.estimates import Estimate

SEEDS_NEEDED: Final = 3
Word = Literal["supported", "contradicted", "inconclusive", "not testable"]


@dataclass(frozen=True)
class Evidence:
    """What one seed says: an estimate whose sign the claim is about, or an obstacle that keeps it from speaking."""

    seed: int
    estimate: Estimate
    obstacle: str = ""
    """Such as an accuracy that is not above the majority baseline: how a model that has not learned the task spends its
    depth says nothing about alignment."""


@dataclass(frozen=True)
class Verdict:
    """A word and the reason for it."""

    word: Word
    reason: str


def why_silent(*accuracies: Accuracy, override: str = "") -> str:
    """Return why runs cannot speak about their depth, or an empty string: not theirs, or nothing was learned."""
    if override:
        return "depths were not chosen by the policy"
    return "" if all(one.above_majority for one in accuracies) else "accuracy is not above the majority baseline"


def judge(evidence: Sequence[Evidence]) -> Verdict:
    """Return the verdict on the claim that the estimate is positive.

    - not testable: no seed can speak; each has an obstacle, or its estimate is undefined.
    - supported: at least 3 seeds, and in every one the interval lies above zero.
    - contradicted: the same, below zero.
    - inconclusive: anything else. A seed that cannot speak is never dropped: with it, the others settle nothing.

    >>> up = Estimate(0.3, 0.2, 0.4)
    >>> judge([Evidence(seed, up) for seed in range(3)]).word
    'supported'
    >>> judge([Evidence(0, up)])
    Verdict(word='inconclusive', reason='1 seed, and 3 are needed')
    """
    silent = {item.seed: why for item in evidence if (why := _undefined(item.estimate) or item.obstacle)}
    seeds = {item.seed for item in evidence}
    if silent.keys() >= seeds:
        return Verdict("not testable", _each(silent) if silent else "there is no seed")
    if silent:
        return Verdict("inconclusive", f"{len(silent)} of {len(seeds)} seeds cannot speak ({_each(silent)})")
    if len(seeds) < SEEDS_NEEDED:
        return Verdict("inconclusive", f"{len(seeds)} seed{'s' * (len(seeds) > 1)}, and {SEEDS_NEEDED} are needed")
    directions = {item.estimate.direction for item in evidence}
    if directions == {1}:
        return Verdict("supported", f"the interval excludes zero in the claimed direction in all {len(seeds)} seeds")
    if directions == {-1}:
        return Verdict("contradicted", f"the interval excludes zero against the claim in all {len(seeds)} seeds")
    agreeing = len({item.seed for item in evidence if item.estimate.direction > 0})
    return Verdict("inconclusive", f"{agreeing} of {len(seeds)} seeds agree with the claim")


def _undefined(estimate: Estimate) -> str:
    return estimate.reason if estimate.low is None else ""


def _each(silent: dict[int, str]) -> str:
    reasons = dict.fromkeys(silent.values())
    if len(reasons) == 1:
        return next(iter(reasons))
    return "; ".join(f"seed {seed}: {reason}" for seed, reason in silent.items())
