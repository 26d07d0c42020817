"""The page: what other ways to choose depth cost in accuracy and save in depth, task by task."""

from collections.abc import Sequence
from typing import Final

import altair as alt
import polars as pl

from anira.measure import quantity
from anira.measure.pareto import FULL, rule_name
from anira.measure.tidy import Row, find
from anira.paper.pareto.measure import NAMES, Found, earliest
from anira.site import SMOKE, Cell, ChartPart, Page, Section, TablePart, read_notes
from anira.site.style import colours
from anira.site.tables import Column, estimate_cell
from anira.site.verdicts import claim_note, claims_badge, verdict_lines

_WAY: Final = ["task", "variant", "select", "threshold"]
_COLUMNS: Final = (
    Column("accuracy", "accuracy"),
    Column("above_full", "less full depth"),
    Column("executed", "answer depth", "answer", small="executed"),
    Column("depth", "answer depth", "answer", small="read out"),
    Column("iterations", "all tokens", small="executed"),
)
_DOMINATED: Final = (
    Column("dominated", "dominated", "answer", small="by answer depth"),
    Column("dominated", "dominated", small="by all tokens"),
)
_SHAPES: Final = {"threshold": "circle", "mode": "square", "mean": "triangle-up", "fixed depth": "diamond"}
_CAPTION: Final = (
    "Circles, joined by a line: thresholds, the median being that of 0.5; squares: mode; triangles: mean; diamonds: "
    "fixed depth. Large marks: means over seeds with 95% t intervals; small marks: seeds."
)
_COST: Final = Column("above_full", "accuracy less that at full depth, share of instances")
_ACCURACY: Final = Column("accuracy", "accuracy")
_ANSWERS: Final = Column("executed", "iterations executed, mean over answer tokens", "answer")
_EVERY: Final = Column("iterations", "iterations executed, mean over all tokens")


def make_page(found: Found, *, scale: str, files: Sequence[str]) -> Page:
    """Return the page, with a section for each task."""
    tasks = found.runs["task"].unique(maintain_order=True)
    return Page(
        title="Do smaller thresholds trade accuracy for compute?",
        badge=claims_badge(found.trades, "trade"),
        answer=[*answer(found), *[SMOKE] * (scale == "smoke")],
        lead=_lead(found),
        verdicts=[claim_note(claim) for claim in found.trades],
        sections=[
            *(_section(found, task, is_open=i == 0) for i, task in enumerate(tasks)),
            Section(title="How to read this page", notes=read_notes("anira.paper.pareto")),
        ],
        files=files,
        command=f"anira reproduce pareto --scale {scale}",
    )


def answer(found: Found) -> list[str]:
    """Say where stopping early costs accuracy, and what it saves."""
    texts = {
        "supported": "Stopping early costs accuracy in {}.",
        "contradicted": "Stopping early costs less than 2 points of accuracy in {}.",
        "inconclusive": "Whether stopping early costs accuracy is open in {}.",
        "not testable": "It cannot be judged in {}.",
    }
    return [*verdict_lines(found.trades, texts), *_saved(found)]


def _saved(found: Found) -> list[str]:
    """Say how many of the iterations at full depth the smallest threshold saves."""
    first, full = (
        part.filter(quantity="iterations")["value"]
        for part in (earliest(found.seeds), found.seeds.filter(threshold=FULL))
    )
    if first.is_empty() or len(first) != len(full):
        return []
    shares = [f"{100 * share:.0f}%" for share in sorted({*(1 - first / full)})]
    smallest = earliest(found.seeds)["threshold"][0]
    span = " to ".join(dict.fromkeys([shares[0], shares[-1]]))
    return [f"The smallest threshold, {smallest:g}, saves {span} of the iterations at full depth, over all tokens."]


def _lead(found: Found) -> ChartPart | None:
    swept = found.seeds.filter(pl.col("threshold").is_not_null())
    if swept.is_empty():
        return None
    caption = f"{_CAPTION} The paper prints no values for its figure."
    chart = ways_chart(found, _EVERY, _COST)
    return ChartPart(name="cost", title="What each way to choose depth costs and saves", chart=chart, caption=caption)


def _section(found: Found, task: str, *, is_open: bool) -> Section:
    part = Found(found.runs.filter(task=task), found.seeds.filter(task=task), [])
    charts = [
        ChartPart(
            name=f"{task}-{x.quantity}",
            title=f"Accuracy against the depth of {tokens}",
            chart=ways_chart(part, x, _ACCURACY),
            caption=f"{_CAPTION} The axis of accuracy does not start at 0.",
        )
        for x, tokens in ((_ANSWERS, "answer tokens"), (_EVERY, "all tokens"))
    ]
    return Section(title=task.upper(), parts=[ways_table(part, task), *charts], open=is_open)


def ways_table(found: Found, task: str) -> TablePart:
    """Return a line for each model and way to choose depth."""
    rows = []
    for (_, variant, select, threshold), part in found.seeds.group_by(_WAY, maintain_order=True):
        name = rule_name(str(select), threshold)
        virtual = (find(part, "unread_share")["value"] or 0) > 0
        cells = [estimate_cell(find(part, one.quantity, subset=one.subset)) for one in _COLUMNS]
        rule = Cell(name, "virtual" if virtual else "", "Reads out an earlier state than the last." * virtual)
        dominated = [_dominated(find(part, one.quantity, subset=one.subset)) for one in _DOMINATED]
        rows.append([Cell(NAMES[str(variant)]), rule, *cells, *dominated])
    head = [Cell("model"), Cell("depth chosen by"), *(one.head for one in (*_COLUMNS, *_DOMINATED))]
    caption = "Means over seeds with 95% t intervals. Dominated: in how many seeds another way is better."
    return TablePart(title=f"{task.upper()}: every way to choose depth", head=head, rows=rows, caption=caption)


def _dominated(row: Row) -> Cell:
    """Return in how many seeds a way is dominated, and by which on pointing at it."""
    if row["value"] is None:
        return estimate_cell(row)
    return Cell(f"{row['value'] * row['n']:.0f} of {row['n']}", "", row["reason"])


def ways_chart(found: Found, x: Column, y: Column) -> alt.TopLevelMixin:
    """Return one quantity against another: a line through the thresholds, a mark per rule, small marks for seeds."""
    means, single = (_points(table, x, y) for table in (found.seeds, found.runs))
    labels = means["label"].unique(maintain_order=True).to_list()
    fixed = next((label for label in labels if label.endswith(NAMES["fixed"])), "")
    colour = colours(labels, "model", grey=fixed)
    shape = alt.Shape("rule:N", scale=alt.Scale(domain=list(_SHAPES), range=list(_SHAPES.values())), legend=None)
    across = alt.X("x:Q", title=x.title, scale=alt.Scale(zero=False))
    form = alt.Axis(format="%") if quantity(y.quantity).percent else alt.Axis()
    up = alt.Y("y:Q", title=y.title, scale=alt.Scale(zero=False), axis=form)
    base = alt.Chart(means).encode(color=colour)
    tips = ["label:N", "way:N", "x:Q", "y:Q"]
    small = alt.Chart(single).mark_point(size=18, opacity=0.5)
    return alt.layer(
        base.transform_filter("datum.level != null").mark_line(strokeWidth=1.5).encode(x=across, y=up, order="level:Q"),
        base.mark_rule(opacity=0.5).encode(x=across, y=alt.Y("low:Q", title=y.title), y2="high:Q"),
        small.encode(x=across, y=up, color=colour, shape=shape, tooltip=["seed:O", *tips]),
        base.mark_point(filled=True, size=80, opacity=1).encode(
            x=across, y=up, shape=shape, tooltip=[*tips, "low:Q", "high:Q"]
        ),
    )


def _points(table: pl.DataFrame, x: Column, y: Column) -> pl.DataFrame:
    """Return a row per model, way and seed, with its `x` and `y`, and its place in the sweep of thresholds: `level`."""
    by = [*_WAY, "seed"]
    ends = table.filter(quantity=x.quantity, subset=x.subset).select(*by, x="value")
    rows = table.filter(quantity=y.quantity, subset=y.subset).select(*by, "low", "high", y="value")
    label = pl.concat_str(pl.col("task").str.to_uppercase(), pl.lit(" "), pl.col("variant").replace(NAMES))
    ways = [rule_name(*way) for way in rows.select("select", "threshold").iter_rows()]
    level = pl.when(pl.col("select") == "median").then(0.5).otherwise(pl.col("threshold"))
    rule = pl.when(level.is_not_null()).then(pl.lit("threshold")).otherwise(pl.col("select").replace("", "fixed depth"))
    named = rows.with_columns(label=label, level=level, rule=rule, way=pl.Series(ways, dtype=pl.String))
    return named.join(ends, on=by, nulls_equal=True, maintain_order="left")
