"""Accuracy against depth under several ways to choose depth, and which of them another one makes pointless.

Every way is an evaluation of its own over the same instances: another depth for one token changes the states that
others read, so nothing about a threshold can be read off an evaluation at another one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import stats

from anira.config import UserError
from anira.measure.accuracy import accuracy_overall
from anira.measure.records.instances import instance_table, knob_index
from anira.measure.records.loading import Evaluation, load_evaluation
from anira.measure.statistics.association import Mean
from anira.measure.statistics.bootstrap import DRAWS, bootstrap
from anira.measure.statistics.estimates import Estimate, Floats, corrected_for_number
from anira.measure.summary import Labels, labels_of

ALPHA: Final = 0.05
DEPTHS: Final = {
    "answer_depth": ("answer_executed", "answer_tokens"),
    "read_depth": ("answer_depth", "answer_tokens"),
    "depth": ("iterations", "num_tokens"),
}
"""Depth of a point -> (column summed above the line, column summed below it)."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """One way to choose depth: how often the answers are right, and how many iterations a token takes."""

    select: str
    """mode, median, mean or quantile; empty for a policy that has nothing to choose."""
    threshold: float | None
    accuracy: Estimate
    """Over all instances, with its Wilson interval."""
    answer_depth: Estimate
    """Iterations executed at the positions that predict answer tokens."""
    read_depth: Estimate
    """The iteration whose state is read out there."""
    depth: Estimate
    """Iterations executed over all tokens of the rows."""
    virtual: bool
    """Whether states are read out that are earlier than the last executed one: what lies between saves nothing."""
    beaten_on_answers: str
    beaten_on_all: str
    """The name of a point that dominates this one, by the depth of answer tokens and of all; empty on the frontier."""

    @property
    def name(self) -> str:
        """Name the rule, as in `median` or `quantile 0.25`."""
        return rule_name(self.select, self.threshold)


@dataclass(frozen=True, kw_only=True)
class Frontier:
    """The points of one run."""

    labels: Labels
    """Whose they are; how depth was chosen is that of the first point."""
    instances: int
    knobs: tuple[int, ...]
    majority: float
    """Accuracy of each knob's most common answer."""
    points: tuple[Point, ...]
    tests: int
    """Comparisons that Holm's correction goes over, for each measure of depth."""
    warnings: tuple[str, ...]


def rule_name(select: str, threshold: float | None) -> str:
    """Name a rule of selection.

    >>> rule_name("quantile", 0.25), rule_name("mode", None), rule_name("", None)
    ('quantile 0.25', 'mode', 'fixed depth')
    """
    return f"{select} {threshold:g}" if threshold is not None else select or "fixed depth"


def frontier(folders: Sequence[Path], *, seed: int = 0, draws: int = DRAWS) -> Frontier:
    """Return the points of some evaluations of one run, over the same instances; `seed` is that of the resampling."""
    if not folders:
        raise UserError("a frontier needs at least one evaluation")
    evaluations = [load_evaluation(folder) for folder in folders]
    tables = [_table(one) for one in evaluations]
    _check_same_instances(evaluations, tables)
    knobs, index = knob_index(tables[0])
    statistics = {
        f"{name} {i}": Mean(table[above], table[below], np.zeros_like(index), 1, undefined="no such tokens")
        for i, table in enumerate(tables)
        for name, (above, below) in DEPTHS.items()
    }
    found = bootstrap(statistics, index, rng=np.random.default_rng(seed), draws=draws)
    beaten = {measure: _beaten(tables, DEPTHS[measure][0]) for measure in ("answer_depth", "depth")}
    points = [
        Point(
            select=table["select"][0],
            threshold=table["threshold"][0],
            accuracy=accuracy_overall(table).exact,
            **{name: found[f"{name} {i}"][0] for name in DEPTHS},
            virtual=bool(table["unread"].sum()),
            beaten_on_answers=beaten["answer_depth"][i],
            beaten_on_all=beaten["depth"][i],
        )
        for i, table in enumerate(tables)
    ]
    return Frontier(
        labels=labels_of(evaluations[0], tables[0]),
        instances=len(tables[0]),
        knobs=tuple(knobs),
        majority=accuracy_overall(tables[0]).majority,
        points=tuple(points),
        tests=len(tables) * (len(tables) - 1),
        warnings=tuple(dict.fromkeys(line for one in evaluations for line in one.warnings)),
    )


def dominators(right: NDArray[np.bool_], depth: Floats) -> list[list[int]]:
    """Return for each point the points that dominate it.

    `right` and `depth` are (points, instances): whether an instance was answered, and what it spent. One point
    dominates another if, as measured, it is at least as often right and spends at most as much, and if in one of the
    two it is better beyond chance: by the exact McNemar test, or by a paired t-test over instances. All tests of all
    pairs are corrected together (Holm, 5%).
    """
    pairs = list(combinations(range(len(right)), 2))
    if not pairs:
        return [[] for _ in right]
    pvalues = [test for a, b in pairs for test in (_mcnemar(right[a], right[b]), _paired(depth[a] - depth[b]))]
    differs = corrected_for_number(pvalues) <= ALPHA
    certain = differs[::2] | differs[1::2]
    hits, spent = right.sum(axis=1), depth.sum(axis=1)
    found: list[list[int]] = [[] for _ in right]
    for (a, b), differ in zip(pairs, certain, strict=True):
        for one, other in ((a, b), (b, a)):
            if differ and hits[one] >= hits[other] and spent[one] <= spent[other]:
                found[other].append(one)
    return found


def _beaten(tables: Sequence[pl.DataFrame], column: str) -> list[str]:
    """Name for each point the most accurate one that dominates it, of equals the one with least depth."""
    names = [rule_name(*table.select("select", "threshold").row(0)) for table in tables]
    right = np.stack([table["correct"].to_numpy() for table in tables])
    depth = np.stack([table[column].to_numpy().astype(np.float64) for table in tables])
    hits, spent = right.sum(axis=1).tolist(), depth.sum(axis=1).tolist()
    found = dominators(right, depth)
    return [names[min(by, key=lambda one: (-hits[one], spent[one]))] if by else "" for by in found]


def _mcnemar(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    gains, losses = int((one & ~other).sum()), int((other & ~one).sum())
    return float(stats.binomtest(gains, gains + losses).pvalue) if gains + losses else 1.0


def _paired(difference: Floats) -> float:
    """Return the p-value of a mean difference; one that is the same in every instance has no spread to test with."""
    if len(difference) < 2 or np.ptp(difference) == 0:
        return 1.0 if len(difference) < 2 or difference[0] == 0 else 0.0
    return float(stats.ttest_1samp(difference, 0.0).pvalue)


def _table(evaluation: Evaluation) -> pl.DataFrame:
    """Return the instances with what was executed at their answer tokens: `answer_executed`."""
    executed = pl.col("executed").cast(pl.Int64).filter(pl.col("target_kind") == "answer").sum()
    sums = evaluation.tokens.group_by("instance_id").agg(executed.alias("answer_executed"))
    return instance_table(evaluation).join(
        evaluation.collect(sums), on="instance_id", how="left", maintain_order="left"
    )


def _check_same_instances(evaluations: Sequence[Evaluation], tables: Sequence[pl.DataFrame]) -> None:
    """Refuse what cannot be compared instance by instance: other runs, steps, rows or freely written answers."""

    def same(table: pl.DataFrame) -> tuple[Any, ...]:
        first = table.select("run_id", "step", "decode", "override").row(0)
        return (*first, table["instance_id"].to_list(), table["num_tokens"].to_list(), table["answer"].to_list())

    for evaluation, table in zip(evaluations[1:], tables[1:], strict=True):
        if same(table) != same(tables[0]):
            folder = evaluations[0].folder
            raise UserError(f"{evaluation.folder} and {folder} are not of one run, step and set of instances")
