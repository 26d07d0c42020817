"""The table from finished runs to its page."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from anira.measure.records.stored import read_asked
from anira.paper.outcome import write_outcome
from anira.paper.runs import unfinished, used_run
from anira.paper.setting import Outcome, Setting, UsedRun
from anira.paper.wordmath.measure import Found, measured
from anira.paper.wordmath.page import answer, make_page, table_texts, verdicts
from anira.paper.wordmath.runs import FORMS, evaluations, label, plan
from anira.site import Page
from anira.site.plain import layout
from anira.sweeps.plan import PlannedRun

NAME: Final = "wordmath"


def reproduce(setting: Setting) -> Outcome:
    """Make wordmath.html, .json and .csv; the form with one number is shown where all its runs are finished."""
    first, *others = FORMS
    shown = [first, *(form for form in others if not unfinished(plan(form, setting.scale), setting))]
    made = [_measure(form, setting) for form in shown]
    forms, runs = [found for found, _ in made], [run for _, some in made for run in some]
    tables = {f"{found.form}.csv": found.runs for found in forms}
    text = "\n\n".join(_text(found) for found in forms)
    return write_outcome(setting, NAME, tables, partial(_page, forms, setting), runs=runs, text=text)


def _page(forms: list[Found], setting: Setting, files: Sequence[str]) -> Page:
    return make_page(forms, scale=setting.scale, files=files)


def missing(setting: Setting) -> list[PlannedRun]:
    """Return the runs that have to be trained first: those of answers step by step."""
    return unfinished(plan(next(iter(FORMS)), setting.scale), setting)


def _measure(form: str, setting: Setting) -> tuple[Found, list[UsedRun]]:
    folders: dict[str, list[Path]] = {}
    labels: dict[str, str] = {}
    runs = []
    for one in plan(form, setting.scale):
        run = used_run(one, setting)
        made = evaluations(run, setting)
        run_id = read_asked(made[0])["run_id"]
        folders[run_id], labels[run_id] = made, label(one)
        runs.append(run)
    setting.tell(f"measuring {len(runs)} runs of {form}")
    return measured(form, folders, labels), runs


def _text(found: Found) -> str:
    """Return what was found, for a terminal."""
    said = [f"{note.head}: {note.text}" for note in verdicts(found)]
    return "\n".join([*answer(found), "", *said, "", layout(*table_texts(found))])
