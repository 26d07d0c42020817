"""The lines of the study, how they are paired, and what a pair differs in, seed by seed."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final, NamedTuple

import polars as pl

from anira.measure import make_table, over_seeds
from anira.measure.statistics.estimates import Estimate
from anira.measure.tidy import Row, labels_of, make_row
from anira.paper.found import Found
from anira.sweeps.plan import PlannedRun

GAMMAS: Final = (0.03, 0.1, 0.3)
"""Prices at which the ways of credit are compared."""
WAYS: Final = {
    "anira-o full": "ANIRA-O, full lookahead",
    "anira-o one": "ANIRA-O, one step",
    "anira-e full": "ANIRA-E, full lookahead",
    "anira-e one": "ANIRA-E, one step",
    "pondernet": "PonderNet, exact",
}
ALONE: Final = "ouro"
"""Shown beside them at its own settings: its prior is uniform."""


class Pair(NamedTuple):
    """Two lines that are compared at the same price and with the same seed."""

    first: str
    second: str
    name: str


CREDIT: Final = (
    Pair("anira-o one", "anira-o full", "ANIRA-O: one step minus full lookahead"),
    Pair("anira-e one", "anira-e full", "ANIRA-E: one step minus full lookahead"),
    Pair("pondernet", "anira-o full", "PonderNet minus ANIRA-O"),
)
"""Two ways of credit each."""
FULL_GAP: Final = Pair("anira-e full", "anira-o full", "ANIRA-E minus ANIRA-O, full lookahead")
ONE_GAP: Final = Pair("anira-e one", "anira-o one", "ANIRA-E minus ANIRA-O, one step")
PAIRS: Final = (*CREDIT, FULL_GAP, ONE_GAP)

DIFFERENCES: Final = {
    "accuracy_difference": ("accuracy", "all"),
    "depth_difference": ("expected_depth", "answer"),
    "slope_difference": ("expected_slope", "all"),
}
"""What a difference is of: quantity and subset, over all letters."""


def priced(way: str, gamma: float) -> str:
    """Name a line or a pair at a price.

    >>> priced("anira-o one", 0.03)
    'anira-o one at 0.03'
    """
    return f"{way} at {gamma:g}"


def label(run: PlannedRun) -> str:
    """Name a run's line: its way of credit and its price, or Ouro, which has no such price."""
    policy: dict[str, Any] = dict(run.config.model["policy"])
    name = run.config.variant
    if name == ALONE:
        return name
    return priced(f"{name} {policy['lookahead']}" if "lookahead" in policy else name, policy["gamma"])


def compared(table: pl.DataFrame) -> Found:
    """Return the tidy table of all runs with the differences of pairs."""
    whole = pl.concat([table, make_table(_differences(table))])
    return Found(whole, over_seeds(whole))


def _differences(table: pl.DataFrame) -> Iterator[Row]:
    for quantity, (of, subset) in DIFFERENCES.items():
        rows = table.filter(pl.col("knob").is_null(), quantity=of, subset=subset, split="seen").drop_nulls("value")
        values = {(row["variant"], row["seed"]): row for row in rows.iter_rows(named=True)}
        for pair in PAIRS:
            for gamma in GAMMAS:
                yield from _paired(values, pair, gamma, quantity)


def _paired(values: dict[tuple[str, int], Row], pair: Pair, gamma: float, quantity: str) -> Iterator[Row]:
    for (variant, seed), row in values.items():
        other = values.get((priced(pair.second, gamma), seed))
        if variant == priced(pair.first, gamma) and other is not None:
            labels = replace(labels_of(row), variant=priced(pair.name, gamma))
            yield make_row(labels, quantity, Estimate(row["value"] - other["value"]), n=row["n"])
