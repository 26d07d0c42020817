"""From runs of MANO and BREVO to the page of training dynamics: accuracy and depth over training, ANIRA-E and ANIRA-O.

A weight of the compute loss (gamma) that is warmed up makes a fall of depth by itself. So MANO's pair is also trained
with a constant one where the presets have a warm-up.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from anira.measure.claims.training import judge_training
from anira.measure.statistics.bootstrap import DRAWS
from anira.measure.training.dynamics import training_table
from anira.paper.dynamics.page import make_page
from anira.paper.figures import FIGURES
from anira.paper.found import Found, found_in
from anira.paper.outcome import write_figure
from anira.paper.runs import knob_words, runs_of
from anira.paper.setting import Outcome, Setting, UsedRun

NAME: Final = "dynamics"
CONSTANT: Final = {"gamma_warmup_steps": 0}


def reproduce(setting: Setting) -> Outcome:
    """Make dynamics.html, .csv and .json."""
    runs = used_runs(setting)
    setting.tell(f"measuring {len(runs)} runs")
    found = measured([run.folder for run in runs], knob_words(runs))
    return write_figure(setting, NAME, make_page(found), found.tables(NAME), runs=runs, claims=found.claims)


def used_runs(setting: Setting) -> list[UsedRun]:
    """Return MANO's pair with constant gamma, then all of the presets; each run once."""
    presets = FIGURES[NAME].runs
    wanted: list[tuple[str, Mapping[str, Any]]] = [(name, CONSTANT) for name in presets if name.startswith("mano")]
    runs: dict[Path, UsedRun] = {}
    for name, changes in (*wanted, *((name, {}) for name in presets)):
        for run in runs_of(f"{name}-{setting.scale}", setting, changes):
            runs.setdefault(run.folder.resolve(), run)
    return list(runs.values())


def measured(folders: Sequence[Path], knobs: Mapping[str, str], *, draws: int = DRAWS) -> Found:
    """Measure the trainings of runs that differ in task, variant, schedule of gamma and seed."""
    table = training_table(folders, draws=draws)
    return found_in(table, judge_training(table), **knobs)
