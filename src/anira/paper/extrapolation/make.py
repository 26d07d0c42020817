"""The paper's figure of MANO beyond the trained sizes: ANIRA-E, ANIRA-O, fixed depth, and unshared layers.

Each run is evaluated from its smallest trained size to well beyond the largest. Rows beyond `max_length` are read like
any others: rotary position embeddings have a value for every position. That no training row had those positions is part
of what is asked.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import polars as pl

from anira.evaluation import EvaluationConfig
from anira.measure import DRAWS, make_table, measure
from anira.measure.claims.extrapolation import judge_generalisation, judge_graceful
from anira.measure.extrapolation import drop_rows, pair_rows
from anira.measure.records.reading import Records, read_runs
from anira.paper.extrapolation.page import ONLINE, RIVALS, make_page
from anira.paper.files import evaluated
from anira.paper.found import Found, found_in
from anira.paper.outcome import write_figure
from anira.paper.runs import figure_runs, knob_words
from anira.paper.setting import Outcome, Setting, UsedRun
from anira.site.verdicts import NAMES
from anira.tasks.base import Knob
from anira.training import RunFolder

NAME: Final = "extrapolation"


INSTANCES: Final = {"smoke": 16, "cpu": 1000, "paper": 1000}
"""Per knob."""
BEYOND: Final = {"smoke": 2.0, "cpu": 2.0, "paper": 1.5}
"""Knobs go to the largest seen one times this."""


def reproduce(setting: Setting) -> Outcome:
    """Make extrapolation.html, .csv and .json."""
    runs = figure_runs(NAME, setting)
    folders = [_records(run, setting) for run in runs]
    setting.tell(f"measuring {len(runs)} runs")
    found = measured(folders, knob_words(runs)["mano"])
    return write_figure(setting, NAME, make_page(found), found.tables(NAME), runs=runs, claims=found.claims)


def evaluated_knobs(knob: Knob, beyond: float) -> tuple[int, ...]:
    """Return the knobs from the smallest seen one to beyond the largest, as far as the task goes.

    >>> evaluated_knobs(Knob(name="L", meaning="", cost="L", seen=(1, 2, 3), minimum=1, maximum=200), 2.0)
    (1, 2, 3, 4, 5, 6)
    """
    last = min(int(knob.seen[-1] * beyond), knob.maximum)
    return tuple(range(knob.seen[0], max(last, knob.seen[-1]) + 1))


def _records(run: UsedRun, setting: Setting) -> Path:
    knobs = evaluated_knobs(RunFolder(run.folder).read_config().make_task().knob, BEYOND[setting.scale])
    wanted = EvaluationConfig(knobs=knobs, count=INSTANCES[setting.scale])
    return evaluated(run, f"beyond-n{wanted.count}", wanted, setting)


def measured(folders: Sequence[Path], knob: str, *, draws: int = DRAWS) -> Found:
    """Measure evaluation folders of runs of one task that differ in variant and seed."""
    records = [run.main for run in read_runs(folders)]
    rows = [row for one in records for row in drop_rows(one)]
    for one, other in _rivals(records):
        rows += pair_rows(one, other, draws=draws)
    table = pl.concat([measure(folders, draws=draws), make_table(rows)])
    adaptive = [claim for name in NAMES for claim in judge_generalisation(table.filter(variant=name))]
    claims = {"no-generalisation": adaptive, "o-degrades-gracefully": judge_graceful(table, ONLINE, RIVALS)}
    return found_in(table, claims, knob=knob)


def _rivals(records: Sequence[Records]) -> list[tuple[Records, Records]]:
    """Return each run of ANIRA-O with every rival of the same seed."""
    by_name = {(one.labels.variant, one.labels.seed): one for one in records}
    online = [one for one in records if one.labels.variant == ONLINE]
    keys = [(one, (name, one.labels.seed)) for name in RIVALS for one in online]
    return [(one, by_name[key]) for one, key in keys if key in by_name]
