"""The page: whether depth follows input size, and what accuracy loses at unseen sizes, subtask by subtask."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, cast

import altair as alt
import polars as pl

from anira.measure.sizes import UNSEEN
from anira.paper.found import Found
from anira.site import ChartPart, Page, Section, TablePart
from anira.site.by_knob import KnobTask, alignment_table, knob_charts, numbers_table
from anira.site.charts import Legend, interval_part
from anira.site.style import GREY, HEIGHT, tooltip
from anira.site.tables import MEANS, Column, estimate_table
from anira.site.verdicts import NAMES, claim_note, claims_badge, shown, verdict_lines

WITHOUT_SIZE: Final = ("segments_intersect",)
"""Subtasks whose instances are the same at every size."""
AXIS: Final = "n: input size"
SAME: Final = "The work does not change with the size, which is a label only: there is nothing to draw against it."
_SHORT: Final = {"interpolation": "between", "extrapolation": "beyond"}
_BASELINES: Final = {"usual_answer": "commonest answer", "copied_input": "input copied"}
_ACCURACY: Final = (
    Column("accuracy", "seen sizes", split="seen"),
    *(Column("accuracy", where, split=split) for split, where in UNSEEN.items()),
    Column("majority", "commonest answer", split="seen"),
    *(Column("drop_unseen", f"drop {where}", split=split) for split, where in UNSEEN.items()),
)
_DEPTH: Final = (
    Column("need", "need"),
    Column("depth", "answer depth", "answer", split="seen"),
    Column("slope", "slope, seen sizes", split="seen"),
    Column("slope", "slope, all sizes", split="all"),
    Column("slope", "slope, right answers", "right"),
    Column("spearman_knob", "Spearman, all sizes", split="all"),
    Column("r2_position", "R2 of position", "answer"),
    Column("r2_knob", "R2 of n", "answer"),
    Column("r2_both", "R2 of both", "answer"),
)
_VERDICTS: Final = {
    "supported": "Depth rises with input size, where depth is needed, in {}.",
    "contradicted": "Depth does not rise with input size in {}.",
}


def make_page(found: Found) -> Page:
    """Return the page."""
    follows, drops = found.claims["follows-complexity"], found.claims["no-generalisation"]
    title = "Iterations more for one more of n, at seen sizes"
    return Page(
        title="CLRS: does depth follow input size?",
        badge=claims_badge(follows),
        answer=answer(found),
        lead=_intervals(found, "slope", ["seen"], title, "slope of answer depth, iterations per unit of n"),
        verdicts=[claim_note(claim) for claim in (*follows, *drops)],
        sections=[_overview(found), *(_section(found.part(subtask=name), name) for name in _subtasks(found))],
    )


def answer(found: Found) -> list[str]:
    """Say where depth follows size, and where accuracy drops at unseen sizes."""
    lines = verdict_lines(found.claims["follows-complexity"], _VERDICTS)
    for i, (split, where) in enumerate(UNSEEN.items()):
        judged = found.claims["no-generalisation"][i :: len(UNSEEN)]
        counts = Counter(claim.verdict.word for claim in judged)
        told = ", ".join(f"{count} {word}" for word, count in counts.items())
        drops: list[float] = found.seeds.filter(quantity="drop_unseen", split=split)["value"].drop_nulls().to_list()
        lines.append(f"Accuracy {where} {_compared(drops)}; verdicts that it drops, by subtask and model: {told}.")
    return lines


def _compared(drops: Sequence[float]) -> str:
    """Say how accuracy compares with that at seen sizes.

    >>> _compared([0.1, 0.25]), _compared([-0.02])
    ('is 10 to 25 points lower than at them', 'is 2 points higher than at them')
    >>> _compared([-0.02, 0.3])
    'is 30 points lower to 2 higher than at them'
    """
    if not drops:
        return "is unknown"
    low, high = (round(100 * end) for end in (min(drops), max(drops)))
    if low < 0 < high:
        return f"is {high} points lower to {-low} higher than at them"
    word = "higher" if high <= 0 and low < 0 else "lower"
    return f"is {' to '.join(dict.fromkeys(str(abs(end)) for end in (low, high)))} points {word} than at them"


def _overview(found: Found) -> Section:
    """Return what there is about all subtasks side by side."""
    claims = [claim for own in found.claims.values() for claim in own]
    judged = sum(claim.verdict.word != "not testable" for claim in claims)
    text = [
        f"{judged} of {len(claims)} settings can be judged, each a subtask, a model and a claim. Where there is no "
        "effect, one in forty would still have an interval on the claimed side."
    ]
    if found.words["left_out"]:
        text.append(f"Not trained, because rows are too long: {found.words['left_out']}.")
    title = "Accuracy lost between and beyond the seen sizes"
    drops = _intervals(found, "drop_unseen", list(UNSEEN), title, "accuracy lost, share of instances")
    tables = [
        _table(found, _ACCURACY, "Accuracy", ""),
        _table(found, _DEPTH, "Depth", " R2: share of the variance of answer depth that its means explain."),
    ]
    return Section(title="All subtasks", text=text, parts=[*([drops] if drops else []), *tables])


def _table(found: Found, columns: tuple[Column, ...], title: str, more: str) -> TablePart:
    subjects = {
        f"{subtask} {name}": {"subtask": subtask, **labels}
        for subtask in _subtasks(found)
        for name, labels in shown(found.seeds).items()
    }
    return estimate_table(found.seeds, subjects, columns, title=title, first="subtask", caption=f"{MEANS}{more}")


def _intervals(found: Found, name: str, splits: list[str], title: str, axis: str) -> ChartPart | None:
    """Return a quantity of every subtask and model with its seeds; nothing where none has it."""
    rows = found.both.filter(quantity=name, subset="all").filter(
        pl.col("split").is_in(splits) & ~pl.col("subtask").is_in(WITHOUT_SIZE)
    )
    where = [pl.lit(", "), pl.col("split").replace(_SHORT)] if len(splits) > 1 else []
    label = pl.concat_str("subtask", pl.lit(" "), pl.col("variant").replace(NAMES), *where).alias("label")
    order = (pl.col("subtask").cast(pl.Enum(_subtasks(found))), "variant", "split")
    shown_rows = rows.sort(*order, descending=[False, False, True]).with_columns(label)
    return interval_part(shown_rows, name=name, title=title, axis=axis)


def _section(found: Found, subtask: str) -> Section:
    """Return one subtask by size."""
    legend = Legend(NAMES)
    task = KnobTask(name=subtask, title=subtask, knob=AXIS, runs=found.runs, seeds=found.seeds, legend=legend)
    if subtask in WITHOUT_SIZE:
        return Section(title=subtask, text=[SAME], parts=[numbers_table(task)])
    depth, accuracy, *forced = knob_charts(task)
    parts = [_marked(depth, found.seeds), _marked(accuracy, found.seeds, with_baselines=True), *forced]
    return Section(title=subtask, parts=[*parts, alignment_table(task), numbers_table(task)])


def _marked(part: ChartPart, seeds: pl.DataFrame, *, with_baselines: bool = False) -> ChartPart:
    """Return a chart by size with ticks at the seen sizes, and what needs no algorithm."""
    seen = seeds.filter(quantity="accuracy", split="seen").drop_nulls("knob").select("knob").unique(maintain_order=True)
    ticks = alt.Chart(seen).mark_tick(color=GREY, thickness=3, height=12).encode(x=alt.X("knob:Q"), y=alt.value(HEIGHT))
    layers = [cast("alt.LayerChart", part.chart), ticks]
    caption = f"{part.caption} Ticks on the axis: sizes of training."
    if with_baselines:
        rows = seeds.filter(pl.col("quantity").is_in(list(_BASELINES))).drop_nulls("knob")
        named = rows.with_columns(baseline=pl.col("quantity").replace(_BASELINES))
        dashes = alt.StrokeDash("baseline:N", title="without the algorithm")
        line = alt.Chart(named.unique(["baseline", "knob"], maintain_order=True)).mark_line(color=GREY)
        layers.append(
            line.encode(
                x=alt.X("knob:Q"), y=alt.Y("value:Q"), strokeDash=dashes, tooltip=tooltip("baseline:N", "value:Q")
            )
        )
    return replace(part, chart=alt.layer(*layers), caption=caption)


def _subtasks(found: Found) -> list[str]:
    return found.runs["subtask"].unique(maintain_order=True).to_list()
