"""A claim about one setting, judged over its seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from anira.measure.claims.verdict import Evidence, Verdict, judge
from anira.measure.statistics.estimates import Estimate

BROKEN_NULL: Final = "a null does not cover zero"


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
