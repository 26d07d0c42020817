"""Two runs on the same instances: which is right more often, and which spends more depth.

All evaluations of a task read the same rows, so that runs are compared instance by instance: what is hard about an
instance is hard for both and drops out of the difference, and intervals are narrower than those of two means.

    instance                    0     1     2     3
    depth of its answer, E      3     4     4     5
    depth of its answer, O      3     3     3     4       E less O: 0.75

A resample draws instances, each with what both runs made of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from anira.measure.accuracy import Accuracy, accuracy_overall
from anira.measure.claims.knob import Claim, by_identity, make_claim
from anira.measure.claims.verdict import Evidence, why_silent
from anira.measure.records.instances import instance_table
from anira.measure.records.loading import load_evaluation
from anira.measure.statistics.association import Mean
from anira.measure.statistics.bootstrap import DRAWS, Statistic, bootstrap
from anira.measure.statistics.estimates import Estimate, Floats, Ints
from anira.measure.summary import Summary

LESS_DEPTH: Final = "O answers with less depth than E, at accuracies under 2 points apart (iterations, E less O)"
EQUAL_ACCURACY: Final = 0.02
"""Accuracies that differ by this or more are not the same task performance."""
OTHER = "_other"  # ends the columns of the second run
_FIGURES = ("correct", "lenient_correct", "answer_tokens", "answer_depth")
_SAME = ("question", "answer")  # records of an evaluation have both; the answer is what analysis needs


class Match(NamedTuple):
    """Two evaluations of one task by runs with the same seed."""

    first: Summary
    second: Summary

    @property
    def text(self) -> str:
        """Name both, as in `mano anira-e against anira-o`."""
        one, other = (summary.labels for summary in self)
        return f"{' '.join(filter(None, (one.task, one.subtask, one.variant)))} against {other.variant}"

    @property
    def seed(self) -> int:
        """The seed of both."""
        return self.first.labels.seed

    @property
    def runs(self) -> str:
        """Name the two runs."""
        return f"{self.first.labels.run_id} and {self.second.labels.run_id}"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What two runs make of the same instances; differences are the first less the second."""

    instances: int
    accuracies: tuple[Accuracy, Accuracy]
    """Of each run, on these instances."""
    accuracy: Estimate
    depth: Estimate
    """Difference of the mean depth over all answer tokens."""
    both_right: int
    """Instances that both answer right."""
    depth_both_right: Estimate
    """The difference of depth on those."""


def match_seeds(first: Sequence[Summary], second: Sequence[Summary]) -> list[Match]:
    """Return every pair of evaluations of the same task and subtask whose runs have the same seed, in its order."""
    pairs = [Match(one, other) for one in first for other in second if _where(one) == _where(other)]
    return sorted(pairs, key=lambda pair: pair.seed)


def _where(summary: Summary) -> tuple[str, str, int]:
    return summary.labels.task, summary.labels.subtask, summary.labels.seed


def shared_instances(match: Match) -> pl.DataFrame:
    """Return one row for each instance that both runs read; none where what they read under a number differs.

    Columns are those of `instance_table` for the first run, and the figures of the second with `_other` at their end.
    An instance is known by its knob and its number within that, so evaluations may differ in size and in knobs.
    """
    first, second = (_numbered(summary) for summary in match)
    known = [name for name in _SAME if name in first.columns and name in second.columns]
    pairs = first.join(second.select("knob", "number", *_FIGURES, *known), on=["knob", "number"], suffix=OTHER)
    same = pl.all_horizontal(pl.col(name) == pl.col(f"{name}{OTHER}") for name in known)
    return pairs.sort("knob", "number") if pairs.select(same.all()).item() else pairs.clear()


def _numbered(summary: Summary) -> pl.DataFrame:
    labels = summary.labels
    table = instance_table(load_evaluation(Path(labels.evaluation), labels.subtask))
    return table.with_columns(pl.int_range(pl.len()).over("knob").alias("number"))


def compare(pairs: pl.DataFrame, *, seed: int = 0, draws: int = DRAWS) -> Comparison:
    """Return what two runs make of rows of `shared_instances`; `seed` is that of the resampling."""
    accuracies = accuracy_overall(pairs), accuracy_overall(_of_second(pairs))
    if pairs.is_empty():
        none = Estimate(None, reason="the two evaluations share no instances")
        return Comparison(
            instances=0, accuracies=accuracies, accuracy=none, depth=none, both_right=0, depth_both_right=none
        )
    right, other = pairs["correct"].to_numpy(), pairs[f"correct{OTHER}"].to_numpy()
    everything = np.zeros(len(pairs), dtype=np.int64)
    statistics: dict[str, Statistic] = {
        "accuracy": Mean(right.astype(int) - other, np.ones(len(pairs)), everything, 1, undefined="no instances"),
        "depth": _depth(pairs, everything, "no answer tokens"),
        "both": _depth(pairs, np.where(right & other, 0, -1), "no instance that both answer right"),
    }
    found = bootstrap(statistics, pairs["knob"].to_numpy(), rng=np.random.default_rng(seed), draws=draws)
    return Comparison(
        instances=len(pairs),
        accuracies=accuracies,
        accuracy=found["accuracy"][0],
        depth=found["depth"][0],
        both_right=int((right & other).sum()),
        depth_both_right=found["both"][0],
    )


def _of_second(pairs: pl.DataFrame) -> pl.DataFrame:
    return pairs.with_columns(pl.col(f"{name}{OTHER}").alias(name) for name in _FIGURES)


class _Difference:
    """One statistic less another, both on the same resamples."""

    def __init__(self, first: Statistic, second: Statistic) -> None:
        self.undefined = first.undefined
        self._first, self._second = first, second

    def __call__(self, weights: Floats) -> Floats:
        """Return the difference in every resample."""
        return self._first(weights) - self._second(weights)


def _depth(pairs: pl.DataFrame, groups: Ints, undefined: str) -> _Difference:
    """Return the difference of mean answer depths; each run has its own number of tokens where it wrote freely."""
    first, second = (
        Mean(pairs[f"answer_depth{end}"], pairs[f"answer_tokens{end}"], groups, 1, undefined=undefined)
        for end in ("", OTHER)
    )
    return _Difference(first, second)


def judge_matches(text: str, found: Sequence[tuple[Match, Evidence]]) -> list[Claim]:
    """Return a verdict for each two experiments among the matches, over all of their seeds."""
    groups = by_identity(found, lambda one: [summary.labels for summary in one[0]])
    return [
        make_claim(text, group[0][0].text, [(match.runs, evidence) for match, evidence in group]) for group in groups
    ]


def judge_less_depth(compared: Sequence[tuple[Match, Comparison]]) -> list[Claim]:
    """Return the verdicts on the claim that the second run of each match answers with less depth than the first."""
    found = [
        (match, Evidence(match.seed, comparison.depth, depth_obstacle(match, comparison)))
        for match, comparison in compared
    ]
    return judge_matches(LESS_DEPTH, found)


def depth_obstacle(match: Match, comparison: Comparison) -> str:
    """Return why the depths of two runs do not compare, or an empty string."""
    overrides = (summary.labels.override for summary in match)
    return why_silent(override=next(filter(None, overrides), "")) or accuracy_obstacle(comparison)


def accuracy_obstacle(comparison: Comparison) -> str:
    """Return why two runs have not the same task performance, or an empty string."""
    if why := why_silent(*comparison.accuracies):
        return why
    if comparison.accuracy.value is not None and abs(comparison.accuracy.value) >= EQUAL_ACCURACY:
        one, other = (accuracy.exact.value for accuracy in comparison.accuracies)
        return f"accuracies are 2 points or more apart: {one:.3f} and {other:.3f}"
    return ""
