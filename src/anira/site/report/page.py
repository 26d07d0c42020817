"""A report: from runs to one HTML page that needs nothing else, and the tables behind it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from anira.config import json_text, printable
from anira.site.report.about import KnobWords, commands, in_a_line, origin, settings_rows, shrunk
from anira.site.report.runs import Run
from anira.site.report.task import TaskPart, task_part


@dataclass(frozen=True, kw_only=True)
class Report:
    """The page, and by name the tables behind its figures."""

    html: str
    tables: Mapping[str, pl.DataFrame]


def build(
    runs: Sequence[Run],
    *,
    instances: int = 6,
    knobs: Mapping[str, KnobWords] | None = None,
    paper: Mapping[str, Mapping[str, Any]] | None = None,
) -> Report:
    """Make the report of some runs; the same records give the same bytes.

    `instances` of each task are shown token by token. What the run folders do not say comes from outside: `knobs` has
    what tasks call their knob, by task, and `paper` the configuration of the paper's run that a run is to be compared
    with, by the run's name.
    """
    words, reference = knobs or {}, paper or {}
    tasks = {run.task: [other for other in runs if other.task == run.task] for run in runs}
    parts = [task_part(own, words.get(task, KnobWords()), instances) for task, own in tasks.items()]
    page = {
        "title": f"Does depth follow difficulty? {', '.join(part.title for part in parts)}",
        "tasks": parts,
        "runs": runs,
        "settings": settings_rows(runs, words),
        "shrunk": shrunk(runs, reference),
        "lines": [in_a_line(own, words.get(task, KnobWords()), reference) for task, own in tasks.items()],
        "commands": commands(runs),
        "origins": [(run, origin(run), json_text(run.config, indent=2)) for run in runs],
    }
    html = environment().get_template("report.html").render(page=page)
    return Report(html=html.strip() + "\n", tables=_joined(parts))


@cache
def environment() -> Environment:
    """Return what fills templates: everything is escaped and printable, and a name that is missing is an error."""
    return Environment(
        loader=PackageLoader("anira.site.report"),
        autoescape=True,
        finalize=_printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _printable(value: Any) -> Any:
    # Without this, names from elsewhere could turn the direction in which the page around them reads.
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _joined(parts: Sequence[TaskPart]) -> dict[str, pl.DataFrame]:
    """Return each table with the rows of all tasks; a column that only some have is null for the others."""
    names = parts[0].tables
    return {name: pl.concat([part.tables[name] for part in parts], how="diagonal_relaxed") for name in names}
