"""Accuracy against depth under several ways to choose depth, and which of them another one makes pointless.

Every way is an evaluation of its own over the same instances: another depth for one token changes the states that
others read, so nothing about a threshold can be read off an evaluation at another one.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import stats

from anira.config import UserError
from anira.measure.choice import majority, share
from anira.measure.records.instances import knob_index
from anira.measure.records.reading import Records
from anira.measure.statistics.association import Mean
from anira.measure.statistics.bootstrap import DRAWS, bootstrap
from anira.measure.statistics.estimates import Estimate, Floats, corrected_for_number
from anira.measure.tidy import Row, make_row

ALPHA: Final = 0.05
FULL: Final = 1.0
"""The threshold at which every token runs to the end."""
_DEPTHS: Final = {
    ("executed", "answer"): ("answer_executed", "answer_tokens"),
    ("depth", "answer"): ("answer_depth", "answer_tokens"),
    ("iterations", "all"): ("iterations", "num_tokens"),
}
"""Quantity and subset -> (column summed above the line, column summed below it)."""
_SPENT: Final = {"answer": "answer_executed", "all": "iterations"}
"""By whose depth a way is dominated -> the column that says what an instance spent."""


def rule_name(select: str, threshold: float | None) -> str:
    """Name a rule of selection.

    >>> rule_name("quantile", 0.25), rule_name("mode", None), rule_name("", None)
    ('quantile 0.25', 'mode', 'fixed depth')
    """
    return f"{select} {threshold:g}" if threshold is not None else select or "fixed depth"


def way_rows(ways: Sequence[Records], *, seed: int = 0, draws: int = DRAWS) -> Iterator[Row]:
    """Yield accuracy, depth and who dominates it for each way to choose depth of one run, over the same instances."""
    if not ways:
        raise UserError("a frontier needs at least one evaluation")
    tables = [_table(one) for one in ways]
    _check_same_instances(ways, tables)
    found = _estimates(ways, tables, seed, draws)
    beaten = {subset: _beaten(ways, tables, column) for subset, column in _SPENT.items()}
    for i, (one, table) in enumerate(zip(ways, tables, strict=True)):
        estimates = {
            ("accuracy", "all"): share(table),
            ("majority", "all"): majority(table),
            ("unread_share", "all"): Estimate(int(table["unread"].sum()) / int(table["iterations"].sum())),
            **found[i],
            **{("dominated", subset): by[i] for subset, by in beaten.items()},
        }
        for (name, subset), estimate in estimates.items():
            yield make_row(one.labels, name, estimate, n=len(table), subset=subset)


def _estimates(
    ways: Sequence[Records], tables: Sequence[pl.DataFrame], seed: int, draws: int
) -> list[dict[tuple[str, str], Estimate]]:
    """Return depths, and accuracy minus that at full depth, of each way; all of them see the same resamples."""
    _, index = knob_index(tables[0])
    full = next((table for one, table in zip(ways, tables, strict=True) if one.labels.threshold == FULL), None)
    keys, statistics, each = [], {}, pl.Series(np.ones(len(index)))
    for i, table in enumerate(tables):
        pairs = {key: (table[above], table[below]) for key, (above, below) in _DEPTHS.items()}
        if full is not None:
            pairs["above_full", "all"] = (table["correct"].cast(pl.Int64) - full["correct"].cast(pl.Int64), each)
        keys.append(list(pairs))
        for key, (above, below) in pairs.items():
            statistics[f"{i} {key}"] = Mean(above, below, undefined="no such tokens")
    found = bootstrap(statistics, index, rng=np.random.default_rng(seed), draws=draws)
    return [{key: found[f"{i} {key}"][0] for key in own} for i, own in enumerate(keys)]


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


def _beaten(ways: Sequence[Records], tables: Sequence[pl.DataFrame], column: str) -> list[Estimate]:
    """Say for each way whether another dominates it; the reason names the most accurate, of equals the cheapest."""
    if len(ways) == 1:
        return [Estimate(None, reason="there is no other way to choose depth")]
    names = [rule_name(one.labels.select, one.labels.threshold) for one in ways]
    right = np.stack([table["correct"].to_numpy() for table in tables])
    depth = np.stack([table[column].to_numpy().astype(np.float64) for table in tables])
    hits, spent = right.sum(axis=1).tolist(), depth.sum(axis=1).tolist()
    best = [min(by, key=lambda one: (-hits[one], spent[one]), default=None) for by in dominators(right, depth)]
    return [Estimate(0.0) if by is None else Estimate(1.0, reason=f"by {names[by]}") for by in best]


def _mcnemar(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    gains, losses = int((one & ~other).sum()), int((other & ~one).sum())
    return float(stats.binomtest(gains, gains + losses).pvalue) if gains + losses else 1.0


def _paired(difference: Floats) -> float:
    """Return the p-value of a mean difference; one that is the same in every instance has no spread to test with."""
    if len(difference) < 2 or np.ptp(difference) == 0:
        return 1.0 if len(difference) < 2 or difference[0] == 0 else 0.0
    return float(stats.ttest_1samp(difference, 0.0).pvalue)


def _table(one: Records) -> pl.DataFrame:
    """Return the instances with what was executed at their answer tokens: `answer_executed`."""
    executed = pl.col("executed").cast(pl.Int64).filter(pl.col("target_kind") == "answer").sum()
    sums = one.evaluation.tokens.group_by("instance_id").agg(executed.alias("answer_executed"))
    return one.instances.join(one.evaluation.collect(sums), on="instance_id", how="left", maintain_order="left")


def _check_same_instances(ways: Sequence[Records], tables: Sequence[pl.DataFrame]) -> None:
    """Refuse what cannot be compared instance by instance: other runs, steps, rows or freely written answers."""

    def same(table: pl.DataFrame) -> tuple[Any, ...]:
        first = table.select("run_id", "step", "decode", "override").row(0)
        return (*first, table["instance_id"].to_list(), table["num_tokens"].to_list(), table["answer"].to_list())

    for one, table in zip(ways[1:], tables[1:], strict=True):
        if same(table) != same(tables[0]):
            folders = f"{one.evaluation.folder} and {ways[0].evaluation.folder}"
            raise UserError(f"{folders} are not of one run, step and set of instances")
