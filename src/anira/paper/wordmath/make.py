"""The table from finished runs to its page."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from anira.measure.statistics.bootstrap import DRAWS
from anira.paper.found import Found, found_in, measure_labelled
from anira.paper.outcome import write_figure
from anira.paper.runs import evaluate_planned, unfinished
from anira.paper.setting import Outcome, Setting, UsedRun
from anira.paper.wordmath.page import make_page
from anira.paper.wordmath.runs import FORMS, evaluations, label, plan
from anira.sweeps.plan import PlannedRun

NAME: Final = "wordmath"


def reproduce(setting: Setting) -> Outcome:
    """Make wordmath.html, .json and .csv; the form with one number is shown where all its runs are finished."""
    first, *others = FORMS
    made = [first, *(form for form in others if not unfinished(plan(form, setting.scale), setting))]
    forms: list[Found] = []
    runs: list[UsedRun] = []
    for form in made:
        planned = plan(form, setting.scale)
        used, folders = evaluate_planned(planned, setting, records=lambda _, run: evaluations(run, setting))
        forms.append(measured(form, folders, dict(zip(folders, map(label, planned), strict=True))))
        runs += used
    tables = {f"{found.task}.csv": found.runs for found in forms}
    return write_figure(setting, NAME, make_page(forms), tables, runs=runs)


def missing(setting: Setting) -> list[PlannedRun]:
    """Return the runs that have to be trained first: those of answers step by step."""
    return unfinished(plan(next(iter(FORMS)), setting.scale), setting)


def measured(
    form: str, folders: Mapping[str, Sequence[Path]], labels: Mapping[str, str], *, draws: int = DRAWS
) -> Found:
    """Measure the runs of one form; `folders` has the evaluations of each run, `labels` its line, by run id."""
    return found_in(measure_labelled(form, folders, labels, draws=draws))
