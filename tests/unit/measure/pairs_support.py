"""Synthetic records of several runs that have read the same instances, with planted accuracies."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl
from tests.sealing_support import seal_evaluation
from tests.unit.measure.records_support import Plan, write_run

from anira.measure.summary import Summary, summarize

ANSWERS = 5  # the majority baseline is 1 / ANSWERS


def write_pairable(folder: Path, plan: Plan, right: Mapping[int, float] | None = None) -> Path:
    """Write a run's final evaluation; answers are the same in every run, `right` is the accuracy by knob.

    Instances of a knob are right in the order of their number, so the better of two runs is right where the other is.
    """
    records = write_run(folder, plan) / "records" / "final"
    number = pl.int_range(pl.len())
    for knob in plan.knobs:
        path = records / f"instances-k{knob:03d}.parquet"
        correct = pl.col("correct") if right is None else number < round(plan.n * right[knob])
        answer = (number % ANSWERS).cast(pl.String)
        pl.read_parquet(path).with_columns(answer=answer, correct=correct).write_parquet(path)
    return seal_evaluation(records)


def pairable(folder: Path, right: Mapping[int, float] | None = None, **plan: object) -> Summary:
    """Write such an evaluation and compute its figures."""
    return summarize(write_pairable(folder, Plan(**{"n": 40, **plan}), right), draws=50)


def with_seed(summary: Summary, seed: int) -> Summary:
    """Return the same figures as those of another seed: what a verdict needs, without another evaluation."""
    return replace(summary, labels=replace(summary.labels, seed=seed))
