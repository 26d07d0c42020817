"""The paper's figures of training dynamics (MANO, BREVO): accuracy and depth by size over training, ANIRA-E and -O.

A gamma that is warmed up makes a fall of depth by itself. So MANO's pair is also trained with a constant one where the
presets have a warm-up, and runs with a constant gamma come first.
"""

from typing import Final

from anira.config import UserError
from anira.measure.training.dynamics import dynamics_claims, dynamics_figures
from anira.paper.dynamics.page import DynamicsRun, dynamics_sheet, dynamics_tables
from anira.paper.files import make_files
from anira.paper.found_runs import runs_of
from anira.paper.setting import Outcome, Setting, UsedRun
from anira.site.report.about import KnobWords
from anira.training import RunFolder

TASKS: Final = ("mano", "brevo")
VARIANTS: Final = ("anira-e", "anira-o")
CONSTANT: Final = {"gamma_warmup_steps": 0}


def reproduce(setting: Setting) -> Outcome:
    """Make dynamics.json, dynamics.html and the tables dynamics*.csv."""
    found = [(run, _dynamics_run(task, run)) for task, run in used_runs(setting)]
    found.sort(key=lambda one: one[1].figures.warm_up > 0)
    shown = [run for _, run in found]
    claims = dynamics_claims([run.figures for run in shown])
    return make_files(
        setting,
        dynamics_sheet(shown, [claim for judged in claims.values() for claim in judged]),
        runs=[run for run, _ in found],
        figures=shown,
        tables=dynamics_tables(shown),
        claims=claims,
    )


def used_runs(setting: Setting) -> list[tuple[str, UsedRun]]:
    """Return tasks and runs: the pair with constant gamma, then all of the presets; each run once."""
    wanted = [("mano", variant, CONSTANT) for variant in VARIANTS]
    wanted += [(task, variant, {}) for task in TASKS for variant in VARIANTS]
    runs: dict[str, tuple[str, UsedRun]] = {}
    for task, variant, changes in wanted:
        for run in runs_of(f"{task}-{variant}-{setting.scale}", setting, changes):
            runs.setdefault(str(run.folder.resolve()), (task, run))
    return list(runs.values())


def _dynamics_run(task: str, run: UsedRun) -> DynamicsRun:
    config = RunFolder(run.folder).read_config()
    if config.task != task:
        raise UserError(f"{run.folder} is a run of task {config.task!r}, not of {task}")
    knob = config.make_task().knob
    return DynamicsRun(origin=run.origin, knob=KnobWords(knob.name, knob.meaning), figures=dynamics_figures(run.folder))
