"""A claim about one setting, and what its seeds together say about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from anira.measure.seeds import t_interval
from anira.measure.statistics.estimates import Estimate

SEEDS_NEEDED: Final = 3
BROKEN_NULL: Final = "a null does not cover zero"
Word = Literal["supported", "contradicted", "inconclusive", "not testable"]


@dataclass(frozen=True)
class Evidence:
    """What one seed says: an estimate of what the claim is about, or why the seed cannot be judged."""

    seed: int
    estimate: Estimate
    obstacle: str = ""
    """Such as an accuracy that is not above the majority baseline: how a model that has not learned the task spends its
    depth is uninformative."""

    @property
    def unusable(self) -> str:
        """Why the seed does not count, or an empty text."""
        return self.estimate.reason or "undefined" if self.estimate.value is None else self.obstacle


@dataclass(frozen=True)
class Verdict:
    """A word and the reason for it."""

    word: Word
    reason: str


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One claim about one setting, what each seed says, and the verdict."""

    text: str
    experiment: str
    """Task, variant, and how depth was chosen."""
    runs: tuple[str, ...]
    seeds: tuple[int, ...]
    estimates: tuple[Estimate, ...]
    """One per run, in their order."""
    verdict: Verdict


def make_claim(text: str, experiment: str, evidence: Sequence[tuple[str, Evidence]], *, smallest: float = 0.0) -> Claim:
    """Return the claim that an effect is at least `smallest`; `evidence` has each run and what it says."""
    found = [one for _, one in evidence]
    return Claim(
        text=text,
        experiment=experiment,
        runs=tuple(run for run, _ in evidence),
        seeds=tuple(one.seed for one in found),
        estimates=tuple(one.estimate for one in found),
        verdict=judge(found, smallest=smallest),
    )


def judge(evidence: Sequence[Evidence], *, smallest: float = 0.0) -> Verdict:
    """Return the verdict on the claim that an effect is positive, and at least the smallest one of interest.

    Seeds are the unit: what counts is the 95% t interval over seeds. A seed that cannot be judged is left out, and the
    reason says so.

    - not testable: no seed can be judged; each has an obstacle, or its estimate is undefined.
    - supported: the interval lies above zero, and the mean is at least `smallest`.
    - contradicted: the interval lies below zero, or all of it below `smallest`.
    - inconclusive: anything else, or fewer than 3 seeds.

    >>> judge([Evidence(seed, Estimate(0.3 + seed / 100)) for seed in range(3)])
    Verdict(word='supported', reason='0.310 [0.285, 0.335] over 3 seeds')
    >>> judge([Evidence(0, Estimate(0.3, 0.2, 0.4))])
    Verdict(word='inconclusive', reason='1 seed, and 3 are needed')
    """
    silent = {item.seed: why for item in evidence if (why := item.unusable)}
    counted = [item for item in evidence if item.seed not in silent]
    if not counted:
        return Verdict("not testable", _each(silent) if silent else "there is no seed")
    without = f"; left out because it cannot be judged: {_each(silent)}" if silent else ""
    count = len({item.seed for item in counted})
    if count < SEEDS_NEEDED:
        seeds = f"{count} of {len(evidence)} seeds" if silent else f"{count} seed{'s' * (count > 1)}"
        return Verdict("inconclusive", f"{seeds}, and {SEEDS_NEEDED} are needed{without}")
    mean = seed_mean(counted)
    assert mean.value is not None and mean.low is not None and mean.high is not None
    reason = f"{mean.text(3)} over {count} seeds"
    if mean.low > 0 and mean.value >= smallest:
        return Verdict("supported", f"{reason}{without}")
    if mean.high < 0:
        return Verdict("contradicted", f"{reason}, against the claim{without}")
    if mean.high < smallest:
        return Verdict("contradicted", f"{reason}: less than the smallest effect of interest, {smallest:g}{without}")
    return Verdict("inconclusive", f"{reason}{without}")


def seed_mean(evidence: Sequence[Evidence]) -> Estimate:
    """Return the mean over seeds with its 95% t interval; a seed that is there several times counts by its own mean."""
    by_seed: dict[int, list[float]] = {}
    for item in evidence:
        if item.estimate.value is not None:
            by_seed.setdefault(item.seed, []).append(item.estimate.value)
    values = [sum(own) / len(own) for own in by_seed.values()]
    if not values:
        return Estimate(None, reason="no seed can be judged")
    low, high = t_interval(values) or (None, None)
    return Estimate(sum(values) / len(values), low, high, "" if low is not None else "one seed")


def _each(silent: dict[int, str]) -> str:
    reasons = dict.fromkeys(silent.values())
    if len(reasons) == 1:
        return next(iter(reasons))
    return "; ".join(f"seed {seed}: {reason}" for seed, reason in silent.items())
