"""The paper's figure of MANO's question tokens and its piecewise model: is the question solved while it is read?"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import polars as pl

from anira.measure import Row, make_table, verdict_rows
from anira.measure.claims.parse_state import judge_reading
from anira.measure.mano.parse_state import parse_state_rows
from anira.measure.mano.work import work_rows
from anira.measure.records.reading import read_runs
from anira.paper.found import Found, found_in
from anira.paper.mano_parse_state.page import make_page
from anira.paper.outcome import write_figure
from anira.paper.runs import figure_runs, forced_folders
from anira.paper.setting import Outcome, Setting

NAME: Final = "mano-parse-state"


def reproduce(setting: Setting) -> Outcome:
    """Make mano-parse-state.html, .csv and .json."""
    runs = figure_runs(NAME, setting)
    found = judged(make_table(_rows(forced_folders(runs, setting))))
    return write_figure(setting, NAME, make_page(found), found.tables(NAME), runs=runs, claims=found.claims)


def judged(table: pl.DataFrame) -> Found:
    """Return a tidy table with what it says over seeds, and the claim."""
    return found_in(table, {"reads-while-solving": judge_reading(table)})


def _rows(folders: Sequence[Path]) -> Iterator[Row]:
    for run in read_runs(folders):
        yield from parse_state_rows(run.main)
        yield from work_rows(run.main)
        yield from verdict_rows(run)
