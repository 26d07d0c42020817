"""Mean depth by knob, and whether depth follows the knob: slope and rank correlation over instances."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from anira.measure.records.instances import instance_means, knob_index
from anira.measure.statistics.association import Mean, Slope, Spearman
from anira.measure.statistics.bootstrap import DRAWS, bootstrap
from anira.measure.statistics.estimates import Estimate, Floats, Ints
from anira.measure.statistics.nulls import Null, knob_nulls

NAMES = ("knob", "depth")


@dataclass(frozen=True, kw_only=True)
class Depth:
    """Mean depth over the tokens at one knob, or at all (`knob` is None)."""

    knob: int | None
    answer: Estimate
    """Exit depth at the positions that predict answer tokens."""
    answer_correct: Estimate
    """The same, in instances that were answered right."""
    prompt: Estimate
    """Exit depth at the positions that predict other tokens."""
    expected: Estimate
    """Expected depth at the positions that predict answer tokens; undefined for policies without exit_probs."""


@dataclass(frozen=True, kw_only=True)
class Alignment:
    """How the depth of answers moves with the knob; an instance's depth is the mean over its answer tokens."""

    measure: str
    """`exit_depth` or `expected_depth`, both at answer tokens."""
    subset: str
    """Which instances: all, correct (answered right) or seen (knobs that training rows have)."""
    instances: int
    slope: Estimate
    """Iterations more for one more of the knob, by least squares."""
    spearman: Estimate
    null_slope: Null | None
    null_spearman: Null | None
    """The same with depth shuffled across instances; None where they are undefined."""


def depth_by_knob(table: pl.DataFrame, *, rng: np.random.Generator, draws: int = DRAWS) -> list[Depth]:
    """Return one row a knob and, last, one over all of them."""
    knobs, index = knob_index(table)
    correct = table["correct"].to_numpy()
    columns = {
        "answer": ("answer", np.ones_like(correct)),
        "answer_correct": ("answer", correct),
        "prompt": ("prompt", np.ones_like(correct)),
        "expected": ("expected", np.ones_like(correct)),
    }
    statistics = {}
    for name, (measure, kept) in columns.items():
        statistics[name] = _mean(table, measure, np.where(kept, index, -1), len(knobs))
        statistics[f"{name} overall"] = _mean(table, measure, np.where(kept, 0, -1), 1)
    found = bootstrap(statistics, index, rng=rng, draws=draws)
    rows = {name: found[name] + found[f"{name} overall"] for name in columns}
    return [Depth(knob=knob, **{name: rows[name][i] for name in columns}) for i, knob in enumerate([*knobs, None])]


def _mean(table: pl.DataFrame, measure: str, groups: Ints, num_groups: int) -> Mean:
    sums, counts = table[f"{measure}_depth"], table[f"{measure}_tokens"]
    return Mean(sums, counts, groups, num_groups, undefined="no such tokens")


def alignment(table: pl.DataFrame, *, rng: np.random.Generator, draws: int = DRAWS) -> list[Alignment]:
    """Return slope and Spearman of depth against the knob for each measure and subset that the records allow."""
    knob = table["knob"].to_numpy().astype(np.float64)
    cases = {
        (measure, subset): np.where(kept, instance_means(table, measure), np.nan)
        for measure in _measures(table)
        for subset, kept in _subsets(table).items()
    }
    statistics: dict[str, Slope | Spearman] = {}
    for case, depth in cases.items():
        rows = np.flatnonzero(~np.isnan(depth))
        statistics[f"slope {case}"] = Slope(knob, depth, names=NAMES)
        statistics[f"spearman {case}"] = Spearman(knob[rows], depth[rows], rows, len(knob), names=NAMES)
    found = bootstrap(statistics, table["knob"].to_numpy(), rng=rng, draws=draws)
    return [
        _alignment(case, knob, depth, [*found[f"slope {case}"], *found[f"spearman {case}"]], rng)
        for case, depth in cases.items()
    ]


def _alignment(
    case: tuple[str, str], knob: Floats, depth: Floats, found: list[Estimate], rng: np.random.Generator
) -> Alignment:
    rows = np.flatnonzero(~np.isnan(depth))
    null_slope, null_spearman = knob_nulls(knob[rows], depth[rows], rng=rng)
    return Alignment(
        measure=case[0],
        subset=case[1],
        instances=len(rows),
        slope=found[0],
        spearman=found[1],
        null_slope=null_slope,
        null_spearman=null_spearman,
    )


def _measures(table: pl.DataFrame) -> list[str]:
    return ["exit_depth", "expected_depth"] if table["expected_tokens"].sum() else ["exit_depth"]


def _subsets(table: pl.DataFrame) -> dict[str, Ints]:
    correct, seen = table["correct"].to_numpy(), (table["split"] == "seen").to_numpy()
    subsets = {"all": np.ones_like(correct), "correct": correct}
    return subsets if seen.all() or not seen.any() else {**subsets, "seen": seen}
