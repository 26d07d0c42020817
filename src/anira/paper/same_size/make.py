"""The study from finished runs to its page."""

from collections.abc import Iterator
from typing import Final

import polars as pl

from anira.measure import DRAWS, Row, make_table, over_seeds
from anira.paper.found import Found, measure_labelled
from anira.paper.outcome import write_figure
from anira.paper.runs import REGISTERED, evaluate_planned, forced_evaluations, unfinished
from anira.paper.same_size.page import make_page
from anira.paper.same_size.verdicts import NEEDY, TWIN
from anira.paper.setting import Outcome, Setting, UsedRun
from anira.site.verdicts import NAMES
from anira.sweeps.plan import Group, Plan, PlannedRun, planned_runs

NAME: Final = "same-size"
SEEDS: Final = tuple(range(5))
BASELINE_SEEDS: Final = SEEDS[:3]
"""Of fixed depth, trained at full depth and at depth 1, by which need is told."""


def reproduce(setting: Setting) -> Outcome:
    """Make same-size.html, .json and .csv."""
    tables, runs = [], []
    for task in (NEEDY, TWIN):
        table, used = _measure(task, setting)
        tables.append(table)
        runs += used
    found = compared(pl.concat(tables))
    return write_figure(setting, NAME, make_page(found), found.tables(NAME), runs=runs)


def missing(setting: Setting) -> list[PlannedRun]:
    """Return the runs that have to be trained first."""
    return unfinished([run for task in (NEEDY, TWIN) for run in plan(task, setting.scale)], setting)


def plan(task: str, scale: str) -> list[PlannedRun]:
    """Return the runs of one group: both policies, and fixed depth at full depth and at depth 1."""
    fixed = (f"{task}-fixed-{scale}",)
    adaptive = Group(presets=tuple(f"{task}-{name}-{scale}" for name in NAMES), seeds=SEEDS)
    shallow = Group(presets=fixed, seeds=BASELINE_SEEDS, set={"model.max_depth": 1})
    return planned_runs(Plan(groups=(adaptive, Group(presets=fixed, seeds=BASELINE_SEEDS), shallow)))


def label(run: PlannedRun) -> str:
    """Name a run's line: its variant, or fixed-1."""
    return "fixed-1" if run.config.model["max_depth"] == 1 else run.config.variant


def compared(table: pl.DataFrame) -> Found:
    """Return the tidy table of both groups with what each seed's slope has more over S3 than over Z6."""
    whole = pl.concat([table, make_table(_gaps(table))])
    return Found(whole, over_seeds(whole))


def _gaps(table: pl.DataFrame) -> Iterator[Row]:
    slopes = table.filter(quantity="expected_slope", subset="all", split="seen")
    for one in slopes.filter(pl.col("variant").is_in(list(NAMES)), task=NEEDY).iter_rows(named=True):
        twin = slopes.filter(task=TWIN, variant=one["variant"], seed=one["seed"])
        pair = [_slope(table, row) for row in (one, *twin.iter_rows(named=True))]
        if len(pair) == 2 and None not in pair:
            empty = dict.fromkeys(("low", "high", "null_low", "null_high"))
            value = pair[0] - pair[1]  # type: ignore[operator]
            yield {**one, **empty, "quantity": "slope_above_twin", "value": value, "reason": ""}


def _slope(table: pl.DataFrame, row: Row) -> float | None:
    """Return a slope; where it is undefined because expected depth is the same everywhere, it is 0 here."""
    depths = table.filter(run_id=row["run_id"], task=row["task"], quantity="expected_depth").drop_nulls("value")
    is_flat = row["value"] is None and depths["value"].n_unique() == 1
    return 0.0 if is_flat else row["value"]


def _measure(task: str, setting: Setting) -> tuple[pl.DataFrame, list[UsedRun]]:
    planned = plan(task, setting.scale)
    runs, folders = evaluate_planned(
        planned, setting, records=lambda _, run: forced_evaluations(run, setting, REGISTERED)
    )
    return measure_labelled(task, folders, dict(zip(folders, map(label, planned), strict=True)), draws=DRAWS), runs
