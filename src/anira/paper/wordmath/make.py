"""The table from finished runs to its page."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from anira.paper.outcome import write_outcome
from anira.paper.runs import evaluate_planned, unfinished
from anira.paper.setting import Outcome, Setting, UsedRun
from anira.paper.wordmath.measure import Found, measured
from anira.paper.wordmath.page import make_page
from anira.paper.wordmath.runs import FORMS, evaluations, label, plan
from anira.site import Page
from anira.sweeps.plan import PlannedRun

NAME: Final = "wordmath"


def reproduce(setting: Setting) -> Outcome:
    """Make wordmath.html, .json and .csv; the form with one number is shown where all its runs are finished."""
    first, *others = FORMS
    shown = [first, *(form for form in others if not unfinished(plan(form, setting.scale), setting))]
    made = [_measure(form, setting) for form in shown]
    forms, runs = [found for found, _ in made], [run for _, some in made for run in some]
    tables = {f"{found.form}.csv": found.runs for found in forms}
    return write_outcome(setting, NAME, tables, partial(_page, forms, setting), runs=runs)


def _page(forms: list[Found], setting: Setting, files: Sequence[str]) -> Page:
    return make_page(forms, scale=setting.scale, files=files)


def missing(setting: Setting) -> list[PlannedRun]:
    """Return the runs that have to be trained first: those of answers step by step."""
    return unfinished(plan(next(iter(FORMS)), setting.scale), setting)


def _measure(form: str, setting: Setting) -> tuple[Found, list[UsedRun]]:
    made = evaluate_planned(
        plan(form, setting.scale), setting, label=label, records=lambda run, _: evaluations(run, setting)
    )
    return measured(form, made.folders, made.labels), made.runs
