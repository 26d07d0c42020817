"""The paper's regression of BREVO: which features of a node explain the depth that was spent on it?"""

from collections.abc import Iterator, Sequence
from typing import Final

import polars as pl

from anira.measure import Row, make_table, verdict_rows
from anira.measure.brevo.regression import regression_rows
from anira.measure.brevo.shares import contrast_rows
from anira.measure.brevo.tokens import AnswerTokens, read_answer_tokens
from anira.measure.claims.structure import judge_structure
from anira.measure.records.reading import read_runs
from anira.measure.statistics import bootstrap
from anira.paper.brevo_regression.page import make_page
from anira.paper.found import Found, found_in
from anira.paper.outcome import write_figure
from anira.paper.runs import figure_runs, forced_folders
from anira.paper.setting import Outcome, Setting
from anira.site.verdicts import NAMES

NAME: Final = "brevo-regression"
DRAWS: Final = {"smoke": 100, "cpu": bootstrap.DRAWS, "paper": bootstrap.DRAWS}
"""Resamples behind an interval."""


def reproduce(setting: Setting) -> Outcome:
    """Make brevo-regression.html, .csv and .json."""
    used, draws = figure_runs(NAME, setting), DRAWS[setting.scale]
    runs = list(read_runs(forced_folders(used, setting)))
    tokens = [read_answer_tokens(run.main) for run in runs]
    beside = [row for run in runs for row in verdict_rows(run, draws=draws)]
    found = judged(make_table([*token_rows(tokens, draws), *beside]))
    return write_figure(setting, NAME, make_page(found), found.tables(NAME), runs=used, claims=found.claims)


def judged(table: pl.DataFrame) -> Found:
    """Return a tidy table with what it says over seeds, and the claim."""
    return found_in(table, {"e-structure-o-state": judge_structure(table, *NAMES)})


def token_rows(tokens: Sequence[AnswerTokens], draws: int) -> Iterator[Row]:
    """Yield the regression of each run, then each run of ANIRA-O against that of ANIRA-E with its seed."""
    for one in tokens:
        yield from regression_rows(one, draws=draws)
    early, online = ({one.labels.seed: one for one in tokens if one.labels.variant == name} for name in NAMES)
    for seed in sorted(early.keys() & online.keys()):
        yield from contrast_rows(early[seed], online[seed], draws=draws)
