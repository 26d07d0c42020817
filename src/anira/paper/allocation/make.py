"""From runs of MANO, BREVO and DEPO to the page: accuracy and depth by knob, ANIRA-E and ANIRA-O."""

from pathlib import Path
from typing import Final

from anira.config import UserError
from anira.paper.allocation.measure import VARIANTS, measured
from anira.paper.allocation.page import make_page
from anira.paper.found_runs import runs_of
from anira.paper.outcome import write_outcome
from anira.paper.runs import forced_evaluations
from anira.paper.setting import Outcome, Setting, UsedRun
from anira.training import RunFolder

NAME: Final = "allocation"
TASKS: Final = ("mano", "brevo", "depo")


def reproduce(setting: Setting) -> Outcome:
    """Make allocation.html, .csv and .json."""
    wanted = [(task, variant) for task in TASKS for variant in VARIANTS]
    found = [(task, run) for task, variant in wanted for run in runs_of(f"{task}-{variant}-{setting.scale}", setting)]
    knobs = {task: _knob(run, task) for task, run in found}
    folders: list[Path] = [folder for _, run in found for folder in forced_evaluations(run, setting)]
    setting.tell(f"measuring {len(found)} runs")
    made = measured(folders, knobs)
    return write_outcome(
        setting,
        NAME,
        {f"{NAME}.csv": made.runs, f"{NAME}-seeds.csv": made.seeds},
        lambda files: make_page(made, scale=setting.scale, files=files),
        runs=[run for _, run in found],
        claims={"follows-complexity": made.follows, "o-less-depth": made.less},
    )


def _knob(run: UsedRun, task: str) -> str:
    """Return what a task calls its knob; a run of another task is refused."""
    config = RunFolder(run.folder).read_config()
    if config.task != task:
        raise UserError(f"{run.folder} is a run of task {config.task!r}, not of {task}")
    knob = config.make_task().knob
    return f"{knob.name}: {knob.meaning}"
