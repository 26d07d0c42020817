"""How accuracy and depth went over training, from run folders to the tidy table.

Curves are in metrics.jsonl. Records of evaluations during training add intervals to depth where the folder still has
them (RUN/records/step-000500); those of the last evaluation give the majority baseline.

    table = training_table([Path("runs/mano-anira-o-cpu/1f2e3d4c-s0")])
    find(table, "kendall_order")            # are sizes learned from easy to hard?
    table.filter(quantity="learned_step").select("knob", "value", "low", "high")
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from anira.config.folder import inside, subfolders
from anira.measure.choice import accuracy_rows, baseline_rows, depth_rows
from anira.measure.records.loading import load_evaluation
from anira.measure.records.reading import Records, read_records
from anira.measure.records.stored import run_config
from anira.measure.statistics.bootstrap import DRAWS
from anira.measure.statistics.estimates import Estimate, proportion
from anira.measure.tidy import Row, estimate, make_row, make_table
from anira.measure.training.metrics import batch_lines, evaluation_lines, read_metrics
from anira.measure.training.order import order_rows
from anira.measure.training.phases import phase_rows

WARMED: Final = ", \u03b3 warmed up"
"""What the variant of a run ends in whose weight of the compute loss rises first: that is another setting."""
NO_RECORDS: Final = "the run has no records of this step"


def training_table(runs: Sequence[Path], *, seed: int = 0, draws: int = DRAWS) -> pl.DataFrame:
    """Return the tidy table of some trainings; a run needs metrics.jsonl and records/final."""
    return make_table(row for run in runs for row in _rows(run, seed, draws))


def _rows(run: Path, seed: int, draws: int) -> Iterator[Row]:
    metrics = read_metrics(run)
    evaluations, batches = evaluation_lines(metrics), batch_lines(metrics)
    final = read_records(load_evaluation(run / "records" / "final"))
    warm_up = int(run_config(run / "records" / "final").get("gamma_warmup_steps", 0))
    final = replace(final, labels=replace(final.labels, variant=final.labels.variant + WARMED * (warm_up > 0)))
    # A stream for each part: an estimate does not depend on which others are made.
    order_rng, depth_rng = np.random.default_rng(seed).spawn(2)
    majority = [row for row in baseline_rows(final) if row["quantity"] == "majority"]
    by_knob = {row["knob"]: row["value"] for row in majority if row["knob"] is not None}
    yield make_row(final.labels, "max_depth", Estimate(float(final.max_depth)), n=1)
    yield make_row(final.labels, "gamma_warmup", Estimate(float(warm_up)), n=1)
    yield from majority
    yield from (row for row in accuracy_rows(final) if row["knob"] is None)
    yield from _curve_rows(final, evaluations, depth_intervals(run, rng=depth_rng, draws=draws))
    yield from order_rows(final.labels, evaluations, by_knob, rng=order_rng, draws=draws)
    yield from phase_rows(final.labels, batches, evaluations)


def depth_intervals(run: Path, *, rng: np.random.Generator, draws: int = DRAWS) -> dict[tuple[int, int], Estimate]:
    """Return the depth of answer tokens by step and knob, for the evaluations of training that the folder holds."""
    folders = [one for one in subfolders(inside(run, "records")) if re.fullmatch(r"step-\d+|final", one.name)]
    rows = (row for one in folders for row in depth_rows(read_records(load_evaluation(one)), rng=rng, draws=draws))
    return {
        (row["step"], row["knob"]): estimate(row)
        for row in rows
        if (row["quantity"], row["subset"]) == ("depth", "answer") and row["knob"] is not None
    }


def _curve_rows(final: Records, evaluations: pl.DataFrame, depths: Mapping[tuple[int, int], Estimate]) -> Iterator[Row]:
    """Yield accuracy and depth at each knob of each evaluation."""
    splits = dict(final.instances.select("knob", "split").unique().iter_rows())
    for step, knob, n, accuracy, depth, expected in evaluations.iter_rows():
        row = partial(make_row, replace(final.labels, step=step), n=n, knob=knob, split=splits.get(knob, "seen"))
        yield row("accuracy", proportion(round(accuracy * n), n))
        yield row("depth", depths.get((step, knob), Estimate(depth, reason=NO_RECORDS)), subset="answer")
        if expected is not None:
            yield row("expected_depth", Estimate(expected), subset="answer")
