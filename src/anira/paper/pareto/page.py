"""The page: what other ways to choose depth cost in accuracy and save in depth, task by task."""

from collections.abc import Mapping
from typing import Any, Final

import altair as alt
import polars as pl

from anira.measure.claims.alignment import EQUAL_ACCURACY, NOT_LEARNED, learned, settings
from anira.measure.claims.verdict import Claim, Evidence, make_claim
from anira.measure.pareto import FULL, rule_name
from anira.measure.statistics.estimates import Estimate
from anira.measure.tidy import Row, find
from anira.paper.found import Found
from anira.site import Cell, ChartPart, Page, Section, TablePart
from anira.site.charts import MARKS, seed_layers, value_axis
from anira.site.style import colours
from anira.site.tables import MEANS, Column, estimate_cell, estimate_table
from anira.site.verdicts import WORDS, claim_note, claims_badge, setting_label, verdict_lines

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
    f"fixed depth. {MARKS}"
)
_ANSWERS: Final = {
    "supported": "Stopping early costs accuracy in {}.",
    "contradicted": "Stopping early costs less than 2 points of accuracy in {}.",
    "inconclusive": "Whether stopping early costs accuracy is open in {}.",
}
_COST: Final = Column("above_full", "accuracy minus that at full depth, share of instances")
_ANSWER_DEPTH: Final = Column("executed", "iterations executed, mean over answer tokens", "answer")
_EVERY: Final = Column("iterations", "iterations executed, mean over all tokens")


def make_page(found: Found) -> Page:
    """Return the page, with a section for each task."""
    trades = judge_trade(found.runs)
    tasks = found.runs["task"].unique(maintain_order=True)
    return Page(
        title="Do smaller thresholds trade accuracy for compute?",
        badge=claims_badge(trades),
        answer=[*verdict_lines(trades, _ANSWERS), *_saved(found)],
        lead=_lead(found),
        verdicts=[claim_note(claim) for claim in trades],
        sections=[_section(found.part(task=task)) for task in tasks],
    )


def earliest(table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows at the smallest threshold."""
    return table.filter(pl.col("threshold") == pl.col("threshold").min())


def judge_trade(table: pl.DataFrame) -> list[Claim]:
    """Return for each setting with thresholds whether the smallest one loses accuracy against full depth.

    Accuracies that are less than 2 points apart count as the same everywhere else, so less than that is no price.
    """
    text = "Accuracy at full depth minus that at the smallest threshold."
    swept = table.filter(pl.col("threshold").is_not_null())
    return [
        make_claim(text, setting, [(run["run_id"][0], _cost(earliest(run))) for run in runs], smallest=EQUAL_ACCURACY)
        for setting, runs in settings(swept)
    ]


def _cost(run: pl.DataFrame) -> Evidence:
    gain = find(run, "above_full")["value"]
    cost = Estimate(None, reason="full depth was not evaluated") if gain is None else Estimate(-gain)
    return Evidence(run["seed"][0], cost, "" if learned(run) else NOT_LEARNED)


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


def _section(found: Found) -> Section:
    charts = [
        ChartPart(
            name=f"{found.task}-{x.quantity}",
            title=f"Accuracy against the depth of {tokens}",
            chart=ways_chart(found, x, Column("accuracy", "accuracy")),
            caption=f"{_CAPTION} The axis of accuracy does not start at 0.",
        )
        for x, tokens in ((_ANSWER_DEPTH, "answer tokens"), (_EVERY, "all tokens"))
    ]
    return Section(title=found.task.upper(), parts=[ways_table(found), *charts])


def ways_table(found: Found) -> TablePart:
    """Return a line for each model and way to choose depth."""
    ways = found.seeds.select(_WAY).unique(maintain_order=True)
    subjects = {(WORDS[way["variant"]], _rule(found.seeds, way)): way for way in ways.iter_rows(named=True)}
    return estimate_table(
        found.seeds,
        subjects,
        _COLUMNS,
        title=f"{found.task.upper()}: every way to choose depth",
        first=("model", "depth chosen by"),
        caption=f"{MEANS} Dominated: in how many seeds another way is better.",
        heads=[one.head for one in _DOMINATED],
        more=lambda way: [_dominated(found.row(one.quantity, subset=one.subset, **way)) for one in _DOMINATED],
    )


def _rule(table: pl.DataFrame, way: Mapping[str, Any]) -> Cell:
    virtual = (find(table, "unread_share", **way)["value"] or 0) > 0
    name = rule_name(way["select"], way["threshold"])
    return Cell(name, "virtual" * virtual, "Reads out an earlier state than the last." * virtual)


def _dominated(row: Row) -> Cell:
    """Return in how many seeds a way is dominated, and by which on pointing at it."""
    if row["value"] is None:
        return estimate_cell(row)
    return Cell(f"{row['value'] * row['n']:.0f} of {row['n']}", "", row["reason"])


def ways_chart(found: Found, x: Column, y: Column) -> alt.TopLevelMixin:
    """Return one quantity against another: a line through the thresholds, a mark per rule, small marks for seeds."""
    means, single = (_points(table, x, y) for table in (found.seeds, found.runs))
    labels = means["label"].unique(maintain_order=True).to_list()
    fixed = next((label for label in labels if label.endswith(WORDS["fixed"])), "")
    colour = colours(labels, "model", grey=fixed)
    shape = alt.Shape("rule:N", scale=alt.Scale(domain=list(_SHAPES), range=list(_SHAPES.values())), legend=None)
    across = alt.X("x:Q", title=x.title, scale=alt.Scale(zero=False))
    tips = ["label:N", "way:N", "x:Q", "value:Q"]
    sweep = alt.Chart(means).transform_filter("datum.level != null").mark_line(strokeWidth=1.5)
    return alt.layer(
        sweep.encode(x=across, y=value_axis(y), color=colour, order=alt.Order("level:Q")),
        *seed_layers(means, single, across, value_axis(y), tips, color=colour, shape=shape),
    )


def _points(table: pl.DataFrame, x: Column, y: Column) -> pl.DataFrame:
    """Return a row per model, way and seed, with `x` and `value`, and its place in the sweep of thresholds: `level`."""
    by = [*_WAY, "seed"]
    ends = table.filter(quantity=x.quantity, subset=x.subset).select(*by, x="value")
    rows = table.filter(quantity=y.quantity, subset=y.subset).select(*by, "value", "low", "high")
    ways = [rule_name(*way) for way in rows.select("select", "threshold").iter_rows()]
    level = pl.when(pl.col("select") == "median").then(0.5).otherwise(pl.col("threshold"))
    rule = pl.when(level.is_not_null()).then(pl.lit("threshold")).otherwise(pl.col("select").replace("", "fixed depth"))
    named = rows.with_columns(setting_label(), level=level, rule=rule, way=pl.Series(ways, dtype=pl.String))
    return named.join(ends, on=by, nulls_equal=True, maintain_order="left")
