"""The page: whether depth follows input size, and what accuracy loses at unseen sizes, subtask by subtask."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, cast

import altair as alt
import polars as pl

from anira.measure.claims.knob import Claim
from anira.measure.sizes import UNSEEN
from anira.paper.clrs.measure import NAMES, WITHOUT_SIZE, Found
from anira.site import SMOKE, ChartPart, Page, Section, TablePart, read_notes
from anira.site.by_knob import KnobTask, alignment_table, knob_charts, numbers_table
from anira.site.charts import Legend, interval_chart
from anira.site.style import GREY, HEIGHT
from anira.site.tables import Column, estimate_table
from anira.site.verdicts import claim_note, claims_badge, verdict_lines

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
_MARKS: Final = "Large marks: means over seeds with 95% t intervals; small marks: seeds."


def make_page(found: Found, *, scale: str, files: Sequence[str]) -> Page:
    """Return the page."""
    return Page(
        title="CLRS: does depth follow input size?",
        badge=claims_badge(found.follows),
        answer=[*answer(found), *[SMOKE] * (scale == "smoke")],
        lead=_interval_part(found, "slope", ["seen"], "Iterations more for one more of n, at seen sizes"),
        verdicts=[claim_note(claim) for claim in (*found.follows, *found.drops)],
        sections=[
            _overview(found),
            *(_section(found, name) for name in _subtasks(found)),
            Section(title="How to read this page", notes=read_notes("anira.paper.clrs")),
        ],
        files=files,
        command=f"anira reproduce clrs --scale {scale}",
    )


def answer(found: Found) -> list[str]:
    """Say where depth follows size, and where accuracy drops at unseen sizes."""
    lines = verdict_lines(found.follows, _VERDICTS)
    for i, (split, where) in enumerate(UNSEEN.items()):
        counts = Counter(claim.verdict.word for claim in found.drops[i :: len(UNSEEN)])
        told = ", ".join(f"{count} {word}" for word, count in counts.items())
        drops: list[float] = found.seeds.filter(quantity="drop_unseen", split=split)["value"].drop_nulls().to_list()
        ends = [f"{100 * end:.0f}" for end in (min(drops), max(drops))] if drops else []
        size = f"is {' to '.join(ends)} points lower than at them" if ends else "is unknown"
        lines.append(f"Accuracy {where} {size}; verdicts that it drops, by subtask and model: {told}.")
    return lines


def _overview(found: Found) -> Section:
    """Return what there is about all subtasks side by side."""
    judged = [claim for claim in (*found.follows, *found.drops) if claim.verdict.word != "not testable"]
    text = [_number(judged, len(found.follows) + len(found.drops))]
    if found.left_out:
        text.append(f"Not trained, because rows are too long: {', '.join(found.left_out)}.")
    drops = _interval_part(found, "drop_unseen", list(UNSEEN), "Accuracy lost between and beyond the seen sizes")
    tables = [
        _table(found, _ACCURACY, "Accuracy", ""),
        _table(found, _DEPTH, "Depth", " R2: share of the variance of answer depth that its means explain."),
    ]
    return Section(title="All subtasks", text=text, parts=[*([drops] if drops else []), *tables], open=True)


def _number(judged: Sequence[Claim], all_claims: int) -> str:
    return (
        f"{len(judged)} of {all_claims} settings can be judged, each a subtask, a model and a claim. Where "
        f"there is no effect, one in forty would still have an interval on the claimed side."
    )


def _table(found: Found, columns: Sequence[Column], title: str, more: str) -> TablePart:
    subjects: dict[str, dict[str, object]] = {
        f"{subtask} {name}": {"subtask": subtask, "variant": variant}
        for subtask in _subtasks(found)
        for variant, name in NAMES.items()
        if variant in found.seeds["variant"]
    }
    caption = f"Means over seeds with 95% t intervals.{more}"
    return estimate_table(found.seeds, subjects, columns, title=title, first="subtask", caption=caption)


def _interval_part(found: Found, name: str, splits: Sequence[str], title: str) -> ChartPart | None:
    """Return a quantity of every subtask and model with its seeds; nothing where none has it."""
    rows = pl.concat([found.seeds, found.runs]).filter(quantity=name, subset="all").drop_nulls("value")
    rows = rows.filter(pl.col("split").is_in(splits) & ~pl.col("subtask").is_in(WITHOUT_SIZE))
    if rows.is_empty():
        return None
    where = [pl.lit(", "), pl.col("split").replace(_SHORT)] if len(splits) > 1 else []
    label = pl.concat_str("subtask", pl.lit(" "), pl.col("variant").replace(NAMES), *where).alias("label")
    rows = rows.sort(
        pl.col("subtask").cast(pl.Enum(_subtasks(found))), "variant", "split", descending=[False, False, True]
    )
    shown = rows.select(label, "seed", "value", "low", "high")
    order = shown["label"].unique(maintain_order=True).to_list()
    axis = "slope of answer depth, iterations per unit of n" if name == "slope" else "accuracy lost, share of instances"
    return ChartPart(name=name, title=title, chart=interval_chart(shown, order=order, title=axis), caption=_MARKS)


def _section(found: Found, subtask: str) -> Section:
    """Return one subtask by size."""
    runs, seeds = (table.filter(subtask=subtask) for table in (found.runs, found.seeds))
    task = KnobTask(name=subtask, title=subtask, knob=AXIS, runs=runs, seeds=seeds, legend=Legend(NAMES))
    if subtask in WITHOUT_SIZE:
        return Section(title=subtask, text=[SAME], parts=[numbers_table(task)])
    depth, accuracy, *forced = knob_charts(task)
    parts = [_marked(depth, seeds), _marked(accuracy, seeds, with_baselines=True), *forced]
    return Section(title=subtask, parts=[*parts, alignment_table(task), numbers_table(task)])


def _marked(part: ChartPart, seeds: pl.DataFrame, *, with_baselines: bool = False) -> ChartPart:
    """Return a chart by size with ticks at the seen sizes, and what needs no algorithm."""
    seen = seeds.filter(quantity="accuracy", split="seen").drop_nulls("knob").select("knob").unique()
    ticks = alt.Chart(seen).mark_tick(color=GREY, thickness=3, height=12).encode(x="knob:Q", y=alt.value(HEIGHT))
    layers = [cast("alt.LayerChart", part.chart), ticks]
    caption = f"{part.caption} Ticks on the axis: sizes of training."
    if with_baselines:
        rows = seeds.filter(pl.col("quantity").is_in(list(_BASELINES))).drop_nulls("knob")
        named = rows.with_columns(baseline=pl.col("quantity").replace(_BASELINES))
        dashes = alt.StrokeDash("baseline:N", title="without the algorithm")
        line = alt.Chart(named.unique(["baseline", "knob"])).mark_line(color=GREY)
        layers.append(line.encode(x="knob:Q", y="value:Q", strokeDash=dashes, tooltip=["baseline:N", "value:Q"]))
    return replace(part, chart=alt.layer(*layers), caption=caption)


def _subtasks(found: Found) -> list[str]:
    return found.runs["subtask"].unique(maintain_order=True).to_list()
