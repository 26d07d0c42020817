"""What becomes of accuracy beyond the knobs of training.

    knob        1      2      3   |   4      5      6
    accuracy    1.00   0.99   0.72|   0.29   0.25   0.24      drop beyond 0.43, last drop within 0.27

The drop from the largest seen knob to the first one beyond it is the figure of the claim. A larger knob is also more
work, so the drop before it, between the last two seen knobs, stands beside it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from anira.measure.accuracy import Accuracy, accuracy_drop, num_right
from anira.measure.claims.knob import Claim, by_experiment, experiment, make_claim
from anira.measure.claims.verdict import Evidence
from anira.measure.compare import Comparison, Match, accuracy_obstacle, compare, judge_matches, shared_instances
from anira.measure.statistics.bootstrap import DRAWS
from anira.measure.statistics.estimates import Estimate, proportion
from anira.measure.summary import Summary

NO_GENERALISATION: Final = "accuracy drops from the largest seen knob to the first beyond it"
GRACEFUL: Final = "O is right more often at knobs beyond training, where both are as good within it (O less the other)"
NOTHING_BEYOND: Final = "no knob beyond training was evaluated"


@dataclass(frozen=True, kw_only=True)
class Reach:
    """How the accuracy of one run goes on where training ends."""

    limit: Accuracy
    """At the largest seen knob."""
    first: Accuracy | None
    """At the first knob beyond it."""
    beyond: Accuracy | None
    """Over all knobs beyond it; the majority baseline knows the knob."""
    last_drop: Estimate
    """Accuracy at the last but one seen knob, less that at the largest."""
    drop: Estimate
    """Accuracy at the largest seen knob, less that at the first beyond it."""


@dataclass(frozen=True, kw_only=True)
class Rivals:
    """Two runs within the knobs of training and beyond them, on the same instances."""

    runs: tuple[str, str]
    variants: tuple[str, str]
    seed: int
    seen: Comparison
    beyond: Comparison
    farthest: Comparison
    """At the largest knob that both have."""


def reach(summary: Summary) -> Reach | None:
    """Return how far accuracy reaches beyond training; None for an evaluation without any seen knob."""
    rows = [row for row in summary.accuracy if row.knob is not None]
    seen = [row for row in rows if row.split == "seen"]
    if not seen:
        return None
    beyond = [row for row in rows if _knob(row) > _knob(seen[-1])]
    return Reach(
        limit=seen[-1],
        first=beyond[0] if beyond else None,
        beyond=_pooled(beyond) if beyond else None,
        last_drop=accuracy_drop(seen[-2], seen[-1]) if len(seen) > 1 else Estimate(None, reason="one knob was trained"),
        drop=accuracy_drop(seen[-1], beyond[0]) if beyond else Estimate(None, reason=NOTHING_BEYOND),
    )


def _knob(row: Accuracy) -> int:
    assert row.knob is not None
    return row.knob


def _pooled(rows: Sequence[Accuracy]) -> Accuracy:
    """Return accuracy over several knobs from that at each."""
    instances = sum(row.instances for row in rows)
    exact = proportion(sum(num_right(row.exact, row.instances) for row in rows), instances)
    majority = sum(row.majority * row.instances for row in rows) / instances
    return Accuracy(
        knob=None,
        split=rows[0].split,
        instances=instances,
        exact=exact,
        lenient=proportion(sum(num_right(row.lenient, row.instances) for row in rows), instances),
        majority=majority,
        above_majority=exact.low is not None and exact.low > majority,
        seen_in_training=None,
    )


def judge_generalisation(summaries: Sequence[Summary]) -> list[Claim]:
    """Return the verdicts on the claim that accuracy drops beyond training, one for each experiment."""
    return [
        make_claim(
            NO_GENERALISATION, experiment(group[0].labels), [(one.labels.run_id, _evidence(one)) for one in group]
        )
        for group in by_experiment(summaries)
    ]


def _evidence(summary: Summary) -> Evidence:
    found = reach(summary)
    if found is None:
        return Evidence(summary.labels.seed, Estimate(None, reason="no knob of training was evaluated"))
    learned = found.limit.above_majority
    why = "" if learned else "accuracy at the largest seen knob is not above the majority baseline"
    return Evidence(summary.labels.seed, found.drop, why)


def compare_rivals(match: Match, *, seed: int = 0, draws: int = DRAWS) -> Rivals:
    """Compare two runs within the knobs of training, beyond them, and at the largest of all."""
    pairs = shared_instances(match)
    one, other = (summary.labels for summary in match)
    beyond = pairs.filter(pl.col("knob") > pl.col("knob").filter(pl.col("split") == "seen").max())
    seen, unseen, farthest = (
        compare(part, seed=seed, draws=draws)
        for part in (pairs.filter(split="seen"), beyond, beyond.filter(pl.col("knob") == pl.col("knob").max()))
    )
    return Rivals(
        runs=(one.run_id, other.run_id),
        variants=(one.variant, other.variant),
        seed=match.seed,
        seen=seen,
        beyond=unseen,
        farthest=farthest,
    )


def judge_graceful(compared: Sequence[tuple[Match, Rivals]]) -> list[Claim]:
    """Return the verdicts on the claim that the first run of each match is right more often beyond training."""
    found = [
        (match, Evidence(match.seed, rivals.beyond.accuracy, graceful_obstacle(rivals))) for match, rivals in compared
    ]
    return judge_matches(GRACEFUL, found)


def graceful_obstacle(rivals: Rivals) -> str:
    """Return why two runs say nothing about which degrades more gracefully, or an empty string.

    They must be as good as each other within training, and one of them must be better than guessing beyond it.
    """
    if why := accuracy_obstacle(rivals.seen):
        return f"at seen knobs {why}"
    if not any(one.above_majority for one in rivals.beyond.accuracies):
        one, other = (accuracy.exact.value or 0.0 for accuracy in rivals.beyond.accuracies)
        baseline = rivals.beyond.accuracies[0].majority
        return (
            f"beyond training neither is above the majority baseline: {one:.3f} and {other:.3f}, against {baseline:.3f}"
        )
    return ""
