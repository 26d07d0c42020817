"""Whether depth follows the knob: slope and rank correlation over instances, what shuffling leaves of them, and how
much of depth the position of a token explains on its own.

A model whose depth only counts positions would follow any knob that makes rows longer. Where every position belongs to
one knob only, as at MANO's answer (position 2L + 2) in rows that are not moved, the two cannot be told apart at all.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import polars as pl

from anira.measure.records.instances import instance_means
from anira.measure.records.reading import Records
from anira.measure.splits import splits, widest
from anira.measure.statistics.association import Slope, Spearman
from anira.measure.statistics.bootstrap import bootstrap
from anira.measure.statistics.estimates import Estimate, Floats, Ints
from anira.measure.statistics.nulls import knob_nulls
from anira.measure.tidy import Row, make_row

_NAMES: Final = ("knob", "depth")
_MEASURES: Final = {
    "exit_depth": ("slope", "spearman_knob"),
    "expected_depth": ("expected_slope", "expected_spearman"),
}
"""Depth of an instance's answer tokens -> the quantities that say how it moves with the knob."""
INSEPARABLE: Final = "the position determines the knob"
_KINDS: Final = ("answer", "prompt")


def alignment_rows(one: Records, *, rng: np.random.Generator, draws: int) -> Iterator[Row]:
    """Yield slope and Spearman of depth over the knob: of all answers, of right ones, and at knobs of training."""
    table = one.instances
    knob = table["knob"].to_numpy().astype(np.float64)
    cases = {
        (measure, split, subset): np.where(kept, instance_means(table, measure), np.nan)
        for measure in _MEASURES
        if measure == "exit_depth" or table["expected_tokens"].sum()
        for (split, subset), kept in _subsets(table).items()
    }
    statistics: dict[str, Slope | Spearman] = {}
    for case, depth in cases.items():
        rows = np.flatnonzero(~np.isnan(depth))
        statistics[f"slope {case}"] = Slope(knob, depth, names=_NAMES)
        statistics[f"spearman {case}"] = Spearman(knob[rows], depth[rows], rows, len(knob), names=_NAMES)
    found = bootstrap(statistics, table["knob"].to_numpy(), rng=rng, draws=draws)
    for case, depth in cases.items():
        measure, split, subset = case
        rows = np.flatnonzero(~np.isnan(depth))
        nulls = knob_nulls(knob[rows], depth[rows], rng=rng)
        estimates = (found[f"slope {case}"][0], found[f"spearman {case}"][0])
        for name, estimate, null in zip(_MEASURES[measure], estimates, nulls, strict=True):
            yield make_row(one.labels, name, estimate, n=len(rows), split=split, subset=subset, null=null)


def position_rows(one: Records) -> Iterator[Row]:
    """Yield the share of the variance of depth that position, knob, and both explain: R2 of their means.

    Means fit a little noise: (positions - 1) / tokens without any effect.
    """
    depth = pl.col("exit_depth").cast(pl.Float64)
    sums = [depth.sum().alias("depth"), (depth**2).sum().alias("squares"), depth.min().alias("least")]
    tokens = one.evaluation.tokens.group_by("target_kind", "position", "knob")
    cells = one.evaluation.collect(tokens.agg(pl.len().alias("tokens"), *sums, depth.max().alias("most")))
    split = widest(one.instances)
    for kind in _KINDS:
        part = cells.filter(pl.col("target_kind") == kind).sort("position", "knob")
        if not part.is_empty():
            at_once = part.group_by("position").agg(pl.col("knob").n_unique())["knob"]
            caveat = "" if (at_once > 1).any() else INSEPARABLE
            groups = {"position": part["position"].to_numpy(), "knob": part["knob"].to_numpy()}
            for name, group in {**groups, "both": np.arange(len(part))}.items():
                n = int(part["tokens"].sum())
                share = _explained(part, group)
                yield make_row(one.labels, f"r2_{name}", share, n=n, split=split, subset=kind, reason=caveat)


def _subsets(table: pl.DataFrame) -> dict[tuple[str, str], Ints]:
    """Return which instances count, by split and subset; the order decides which random numbers each null gets."""
    over = splits(table)
    widest, kept = next(iter(over.items()))
    narrower = {(split, "all"): rows for split, rows in over.items() if split != widest}
    return {(widest, "all"): kept, (widest, "right"): table["correct"].to_numpy(), **narrower}


def _explained(cells: pl.DataFrame, groups: Ints) -> Estimate:
    """Return R2 of the means by group, from the number, sum and sum of squares of the tokens in each cell."""
    if cells["least"].min() == cells["most"].max():
        return Estimate(None, reason="the depth is constant")
    tokens, depth, squares = (cells[name].to_numpy().astype(np.float64) for name in ("tokens", "depth", "squares"))
    of_the_mean = depth.sum() ** 2 / tokens.sum()
    total = squares.sum() - of_the_mean
    between = (_sum(groups, depth) ** 2 / _sum(groups, tokens)).sum() - of_the_mean
    return Estimate(float(np.clip(between / total, 0, 1)))


def _sum(groups: Ints, values: Floats) -> Floats:
    _, index = np.unique(groups, return_inverse=True)
    sums: Floats = np.bincount(index, weights=values).astype(np.float64)
    return sums
