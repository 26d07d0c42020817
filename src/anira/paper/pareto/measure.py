"""What is read from the runs: every way to choose depth as rows, and whether stopping early costs accuracy."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from anira.measure import over_seeds
from anira.measure.claims.alignment import EQUAL_ACCURACY, NOT_LEARNED, learned, settings
from anira.measure.claims.knob import Claim, make_claim
from anira.measure.claims.verdict import Evidence
from anira.measure.pareto import way_rows
from anira.measure.records.loading import load_evaluation
from anira.measure.records.reading import read_records
from anira.measure.statistics.bootstrap import DRAWS
from anira.measure.statistics.estimates import Estimate
from anira.measure.tidy import find, make_table

NAMES: Final = {"anira-e": "ANIRA-E", "anira-o": "ANIRA-O", "fixed": "fixed depth"}


@dataclass(frozen=True)
class Found:
    """All runs in numbers."""

    runs: pl.DataFrame
    """The tidy table."""
    seeds: pl.DataFrame
    """The same over seeds."""
    trades: Sequence[Claim]


def measured(runs: Sequence[Sequence[Path]], *, draws: int = DRAWS) -> Found:
    """Measure the evaluation folders of each run, one for each way to choose depth."""
    ways = [[read_records(load_evaluation(folder)) for folder in folders] for folders in runs]
    table = make_table(row for one in ways for row in way_rows(one, draws=draws))
    return Found(table, over_seeds(table), judge_trade(table))


def earliest(table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows at the smallest threshold."""
    return table.filter(pl.col("threshold") == pl.col("threshold").min())


def judge_trade(table: pl.DataFrame) -> list[Claim]:
    """Return for each setting with thresholds whether the smallest one loses accuracy against full depth.

    Accuracies that are less than 2 points apart count as the same everywhere else, so less than that is no price.
    """
    text = "Accuracy at full depth less that at the smallest threshold."
    swept = table.filter(pl.col("threshold").is_not_null())
    return [
        make_claim(text, setting, [(run["run_id"][0], _cost(earliest(run))) for run in runs], smallest=EQUAL_ACCURACY)
        for setting, runs in settings(swept)
    ]


def _cost(run: pl.DataFrame) -> Evidence:
    gain = find(run, "above_full")["value"]
    cost = Estimate(None, reason="full depth was not evaluated") if gain is None else Estimate(-gain)
    return Evidence(run["seed"][0], cost, "" if learned(run) else NOT_LEARNED)
