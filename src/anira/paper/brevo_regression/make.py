"""The paper's regression of BREVO: which features of a node explain the depth that was spent on it?"""

from typing import Final

from anira.paper.brevo_regression.measure import DRAWS, NAMES, measured
from anira.paper.brevo_regression.page import make_page
from anira.paper.found_runs import runs_of
from anira.paper.outcome import write_outcome
from anira.paper.runs import forced_evaluations
from anira.paper.setting import Outcome, Setting

NAME: Final = "brevo-regression"


def reproduce(setting: Setting) -> Outcome:
    """Make brevo-regression.html, .csv and .json."""
    runs = [run for variant in NAMES for run in runs_of(f"brevo-{variant}-{setting.scale}", setting)]
    folders = [folder for run in runs for folder in forced_evaluations(run, setting)]
    setting.tell(f"measuring {len(runs)} runs")
    made = measured(folders, draws=DRAWS[setting.scale])
    return write_outcome(
        setting,
        NAME,
        {f"{NAME}.csv": made.runs, f"{NAME}-seeds.csv": made.seeds},
        lambda files: make_page(made, scale=setting.scale, files=files),
        runs=runs,
        claims={"e-structure-o-state": made.claims},
    )
