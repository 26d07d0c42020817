"""The table from records to its page."""

from typing import Final

from anira.paper.gsm_symbolic.measure import measured
from anira.paper.gsm_symbolic.page import make_page
from anira.paper.gsm_symbolic.runs import find_models, used_run
from anira.paper.outcome import write_figure
from anira.paper.setting import Outcome, Setting
from anira.sweeps.plan import PlannedRun

NAME: Final = "gsm-symbolic"


def reproduce(setting: Setting) -> Outcome:
    """Make gsm-symbolic.html, .csv and .json from the models that were evaluated."""
    folders = find_models(setting)
    setting.tell(f"measuring {len(folders)} models")
    found = measured(folders)
    runs = [used_run(folder) for folder in folders]
    return write_figure(setting, NAME, make_page(found), {f"{NAME}.csv": found.runs}, runs=runs)


def missing(setting: Setting) -> list[PlannedRun]:
    """Return the runs to be trained first: none, because language models are not trained from presets here."""
    find_models(setting)
    return []
