"""From runs of MANO, BREVO and DEPO to the page: accuracy and depth by knob, ANIRA-E and ANIRA-O."""

from pathlib import Path
from typing import Final

from anira.paper.allocation.measure import VARIANTS, measured
from anira.paper.allocation.page import make_page
from anira.paper.found_runs import config_of, knob_words, runs_of
from anira.paper.outcome import write_outcome
from anira.paper.runs import forced_evaluations
from anira.paper.setting import Outcome, Setting

NAME: Final = "allocation"
TASKS: Final = ("mano", "brevo", "depo")


def reproduce(setting: Setting) -> Outcome:
    """Make allocation.html, .csv and .json."""
    wanted = [(task, variant) for task in TASKS for variant in VARIANTS]
    found = [(task, run) for task, variant in wanted for run in runs_of(f"{task}-{variant}-{setting.scale}", setting)]
    knobs = {task: knob_words(config_of(run, task)) for task, run in found}
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
