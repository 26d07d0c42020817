"""From runs of MANO and BREVO to the page of training dynamics: accuracy and depth over training, ANIRA-E and ANIRA-O.

A weight of the compute loss (gamma) that is warmed up makes a fall of depth by itself. So MANO's pair is also trained
with a constant one where the presets have a warm-up.
"""

from typing import Final

from anira.paper.dynamics.measure import measured
from anira.paper.dynamics.page import make_page
from anira.paper.found_runs import config_of, knob_words, runs_of
from anira.paper.outcome import write_outcome
from anira.paper.setting import Outcome, Setting, UsedRun

NAME: Final = "dynamics"
TASKS: Final = ("mano", "brevo")
VARIANTS: Final = ("anira-e", "anira-o")
CONSTANT: Final = {"gamma_warmup_steps": 0}


def reproduce(setting: Setting) -> Outcome:
    """Make dynamics.html, .csv and .json."""
    found = used_runs(setting)
    knobs = {task: knob_words(config_of(run, task)) for task, run in found}
    setting.tell(f"measuring {len(found)} runs")
    made = measured([run.folder for _, run in found], knobs)
    return write_outcome(
        setting,
        NAME,
        {f"{NAME}.csv": made.runs, f"{NAME}-seeds.csv": made.seeds},
        lambda files: make_page(made, scale=setting.scale, files=files),
        runs=[run for _, run in found],
        claims=made.claims,
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
