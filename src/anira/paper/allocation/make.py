"""From runs of MANO, BREVO and DEPO to the page: accuracy and depth by knob, ANIRA-E and ANIRA-O."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from anira.measure import DRAWS, measure
from anira.measure.claims.alignment import judge_follows, judge_less_depth
from anira.paper.allocation.page import make_page
from anira.paper.found import Found, found_in
from anira.paper.outcome import write_figure
from anira.paper.runs import figure_runs, forced_folders, knob_words
from anira.paper.setting import Outcome, Setting
from anira.site.verdicts import NAMES

NAME: Final = "allocation"


def reproduce(setting: Setting) -> Outcome:
    """Make allocation.html, .csv and .json."""
    runs = figure_runs(NAME, setting)
    found = measured(forced_folders(runs, setting), knob_words(runs))
    return write_figure(setting, NAME, make_page(found), found.tables(NAME), runs=runs, claims=found.claims)


def measured(folders: Sequence[Path], knobs: Mapping[str, str], *, draws: int = DRAWS) -> Found:
    """Measure evaluation folders of runs that differ in task, variant and seed."""
    table = measure(folders, draws=draws)
    claims = {"follows-complexity": judge_follows(table), "o-less-depth": judge_less_depth(table, *NAMES)}
    return found_in(table, claims, **knobs)
