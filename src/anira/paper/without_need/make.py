"""The study from finished runs to its page."""

from typing import Final

import polars as pl

from anira.measure import DRAWS, make_table, over_seeds
from anira.paper.found import Found, measure_labelled
from anira.paper.outcome import write_figure
from anira.paper.policies.runs import label, own_evaluation
from anira.paper.runs import evaluate_planned, unfinished
from anira.paper.setting import Outcome, Setting, UsedRun
from anira.paper.without_need.page import make_page
from anira.paper.without_need.runs import DRAWN_ANEW, POLICIES, UNTRAINED, plan, untrained_evaluation
from anira.paper.without_need.verdicts import rising_rows
from anira.sweeps.plan import PlannedRun

NAME: Final = "without-need"


def reproduce(setting: Setting) -> Outcome:
    """Make without-need.html, .json and .csv."""
    tables, runs = [], []
    for task in POLICIES:
        table, used = _measure(task, setting)
        tables.append(table)
        runs += used
    found = compared(pl.concat(tables))
    return write_figure(setting, NAME, make_page(found), found.tables(NAME), runs=runs)


def missing(setting: Setting) -> list[PlannedRun]:
    """Return the runs that have to be trained first."""
    return unfinished([run for task in POLICIES for run in plan(task, setting.scale)], setting)


def compared(table: pl.DataFrame) -> Found:
    """Return the tidy table of all runs with the shares of them that rise."""
    rising = make_table(rising_rows(table))
    return Found(pl.concat([table, rising]), pl.concat([over_seeds(table), rising]))


def _measure(task: str, setting: Setting) -> tuple[pl.DataFrame, list[UsedRun]]:
    planned = plan(task, setting.scale)
    most = max(run.config.model["max_depth"] for run in planned)
    runs, folders = evaluate_planned(planned, setting, records=lambda _, run: [own_evaluation(run, setting)])
    named = dict(zip(folders, (label(run, most) for run in planned), strict=True))
    table = measure_labelled(task, folders, named, draws=DRAWS)
    drawn = {run_id: run for (run_id, name), run in zip(named.items(), runs, strict=True) if name in DRAWN_ANEW}
    again = {run_id: [untrained_evaluation(run, setting)] for run_id, run in drawn.items()}
    untrained = measure_labelled(task, again, {run_id: f"{UNTRAINED}{named[run_id]}" for run_id in again}, draws=DRAWS)
    return pl.concat([table, untrained]), runs
