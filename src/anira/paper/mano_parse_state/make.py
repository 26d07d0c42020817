"""The paper's figure of MANO's question tokens and its piecewise model: is the question solved while it is read?"""

from typing import Final

from anira.paper.found_runs import runs_of
from anira.paper.mano_parse_state.measure import NAMES, measured
from anira.paper.mano_parse_state.page import make_page
from anira.paper.outcome import write_outcome
from anira.paper.runs import forced_evaluations
from anira.paper.setting import Outcome, Setting

NAME: Final = "mano-parse-state"


def reproduce(setting: Setting) -> Outcome:
    """Make mano-parse-state.html, .csv and .json."""
    runs = [run for variant in NAMES for run in runs_of(f"mano-{variant}-{setting.scale}", setting)]
    folders = [folder for run in runs for folder in forced_evaluations(run, setting)]
    setting.tell(f"measuring {len(runs)} runs")
    made = measured(folders)
    return write_outcome(
        setting,
        NAME,
        {f"{NAME}.csv": made.runs, f"{NAME}-seeds.csv": made.seeds},
        lambda files: make_page(made, scale=setting.scale, files=files),
        runs=runs,
        claims={"reads-while-solving": list(made.claims.values())},
    )
