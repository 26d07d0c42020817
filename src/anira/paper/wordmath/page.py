"""The page: the paper's table with clauses that are known, what the rule says, and depth by clauses."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from anira.paper.found import Found
from anira.paper.wordmath.runs import BEYOND, FIXED, FORMS, SHALLOW
from anira.paper.wordmath.verdicts import answer, badge, hardest, verdicts
from anira.site import ChartPart, Page, Section, TablePart
from anira.site.by_knob import ACCURACY, DEPTH, KnobTask, knob_chart_part
from anira.site.charts import Legend
from anira.site.tables import MEANS, Column, estimate_table
from anira.site.verdicts import NAMES

_NAMES: Final = {**NAMES, FIXED: "fixed depth", SHALLOW: "trained at depth 1"}
_SPLITS: Final = ("Main", "P1", "P2")
_COLUMNS: Final = (
    *(Column("accuracy", _NAMES[name], small="accuracy", labels={"variant": name}) for name in (SHALLOW, FIXED)),
    *(
        Column(what, words, subset, small=what, labels={"variant": name})
        for name, words in NAMES.items()
        for what, subset in (("accuracy", "all"), ("depth", "answer"))
    ),
)


def make_page(forms: Sequence[Found]) -> Page:
    """Return the page, a section for each form of the answer; the last form leads, where work is done in one token."""
    return Page(
        title="Word problems: does depth follow the number of clauses?",
        badge=badge(forms),
        answer=[line for found in forms for line in answer(found)],
        lead=_chart(forms[-1], DEPTH),
        verdicts=[note for found in forms for note in verdicts(found)],
        sections=[_section(found, is_lead=found is forms[-1]) for found in reversed(forms)],
    )


def _section(found: Found, *, is_lead: bool) -> Section:
    charts = [_chart(found, column) for column in ((ACCURACY,) if is_lead else (ACCURACY, DEPTH))]
    return Section(title=f"The answer {FORMS[found.task]}", parts=[paper_table(found), *charts])


def paper_table(found: Found) -> TablePart:
    """Return the paper's table: accuracy of the baseline, accuracy and depth of both variants, by clauses."""
    most = hardest(found)
    splits = {most + i: f"{most + i} ({split})" for i, split in enumerate(_SPLITS[: BEYOND + 1])}
    clauses = found.seeds["knob"].drop_nulls().unique().sort()
    return estimate_table(
        found.seeds,
        {splits.get(knob, str(knob)): {"knob": knob} for knob in clauses},
        _COLUMNS,
        title="Accuracy and depth by clauses",
        first="clauses",
        caption=f"{MEANS} Depth is the mean over answer tokens. Training has no P1 or P2.",
    )


def _chart(found: Found, column: Column) -> ChartPart:
    task = KnobTask(
        name=found.task,
        title=found.task,
        knob="clauses",
        runs=found.runs,
        seeds=found.seeds,
        legend=Legend(_NAMES, grey=_NAMES[FIXED]),
        edge=hardest(found) + 0.5,
    )
    part = knob_chart_part(task, column)
    return replace(part, title=f"{part.title} by clauses, the answer {FORMS[found.task]}")
