"""The page: depth by letters over both groups, the slopes by the registered rule, and whether depth is needed."""

from typing import Final

import polars as pl

from anira.measure.tidy import find
from anira.paper.found import Found
from anira.paper.same_size.verdicts import GROUPS, answer, badge, verdicts
from anira.site import Cell, Page, Section, TablePart
from anira.site.by_knob import ACCURACY, KnobTask, knob_chart_part
from anira.site.charts import Legend
from anira.site.tables import MEANS, Column, estimate_table
from anira.site.verdicts import WORDS

_NAMES: Final = {name: words for name, words in WORDS.items() if name != "unshared"} | {"fixed-1": "trained at depth 1"}
_LINES: Final = {
    f"{name} {task}": f"{words}, {group}" for name, words in _NAMES.items() for task, group in GROUPS.items()
}
_EXPECTED: Final = Column("expected_depth", "expected depth of answers", "answer")
_COLUMNS: Final = (
    Column("accuracy", "accuracy"),
    Column("accuracy_hardest", "at most letters"),
    Column("need", "need"),
    Column("expected_depth", "expected depth", "answer"),
    Column("expected_slope", "slope"),
    Column("slope_above_twin", "slope minus that over Z6"),
    Column("slope", "slope of exit depth"),
    Column("regret", "regret", "answer"),
)


def make_page(found: Found) -> Page:
    """Return the page."""
    task = _letters(found)
    return Page(
        title="Same size, different need: does depth follow the work or the length?",
        badge=badge(found),
        answer=answer(found),
        lead=knob_chart_part(task, _EXPECTED),
        verdicts=verdicts(found),
        sections=[
            Section(title="Both groups", parts=[_table(found), knob_chart_part(task, ACCURACY)], open=True),
        ],
    )


def _letters(found: Found) -> KnobTask:
    """Return the rows of both groups as one task, whose lines are named by policy and group."""
    runs, seeds = (
        table.with_columns(pl.concat_str("variant", "task", separator=" ").alias("variant"))
        for table in (found.runs, found.seeds)
    )
    there = {key: words for key, words in _LINES.items() if key in seeds["variant"]}
    return KnobTask(name="letters", title="Letters", knob="letters", runs=runs, seeds=seeds, legend=Legend(there))


def _table(found: Found) -> TablePart:
    subjects = {
        (words, group): {"variant": name, "task": task}
        for name, words in _NAMES.items()
        for task, group in GROUPS.items()
    }
    return estimate_table(
        found.seeds,
        subjects,
        _COLUMNS,
        title="Depth and letters, over S3 and over Z6",
        first=("model", "group"),
        caption=f"{MEANS} Slopes are iterations per letter, of expected depth unless stated.",
        heads=[Cell("seeds")],
        more=lambda labels: [Cell(str(find(found.seeds, "accuracy", **labels)["n"]))],
    )
