"""What is read from the runs: the tidy table of each subtask, and the claims."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from anira.measure import measure, over_seeds
from anira.measure.claims.alignment import judge_follows
from anira.measure.claims.knob import Claim
from anira.measure.claims.subtasks import judge_drops
from anira.measure.sizes import labels, unseen_rows
from anira.measure.statistics.bootstrap import DRAWS
from anira.measure.statistics.estimates import Estimate
from anira.measure.tidy import Row, make_row, make_table

NAMES: Final = {"anira-e": "ANIRA-E", "anira-o": "ANIRA-O"}
WITHOUT_SIZE: Final = ("segments_intersect",)
"""Subtasks whose instances are the same at every size."""


@dataclass(frozen=True, kw_only=True)
class CellBaselines:
    """How far one gets at a subtask and size without the algorithm."""

    subtask: str
    size: int
    majority: float
    """Always the commonest answer of training rows of that size."""
    copy: float | None
    """The input as an answer; None where it does not have the form of one."""


@dataclass(frozen=True)
class Found:
    """All subtasks in numbers."""

    runs: pl.DataFrame
    """The tidy table."""
    seeds: pl.DataFrame
    """The same over seeds."""
    follows: Sequence[Claim]
    drops: Sequence[Claim]
    left_out: Sequence[str] = ()
    """Subtasks and sizes that were asked for and are too long to be trained."""


def measured(
    folders: Sequence[Path],
    baselines: Mapping[str, Sequence[CellBaselines]],
    *,
    left_out: Sequence[str] = (),
    draws: int = DRAWS,
) -> Found:
    """Measure evaluation folders of runs that differ in variant and seed; `baselines` has those of each run id."""
    table = measure(folders, draws=draws)
    table = pl.concat([table, make_table(unseen_rows(table)), make_table(_baseline_rows(table, baselines))])
    judged = table.filter(~pl.col("subtask").is_in(WITHOUT_SIZE))
    return Found(table, over_seeds(table), judge_follows(judged), judge_drops(judged), left_out)


def _baseline_rows(table: pl.DataFrame, baselines: Mapping[str, Sequence[CellBaselines]]) -> Iterator[Row]:
    """Yield what needs no algorithm, at each size."""
    accuracy = table.filter(quantity="accuracy").drop_nulls("knob")
    for row in accuracy.iter_rows(named=True):
        place = (row["subtask"], row["knob"])
        (one,) = (one for one in baselines[row["run_id"]] if (one.subtask, one.size) == place)
        for name, value in (("usual_answer", one.majority), ("copied_input", one.copy)):
            if value is not None:
                own, split = labels(row), row["split"]
                yield make_row(own, name, Estimate(value), n=row["n"], split=split, knob=one.size)
