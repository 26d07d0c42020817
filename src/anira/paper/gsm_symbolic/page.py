"""The page: what the paper reports and what we find, the fixed-depth curve, and how much chance explains."""

from collections.abc import Iterator

import altair as alt
import polars as pl

from anira.measure import quantity
from anira.paper.found import Found
from anira.paper.gsm_symbolic.measure import SPLITS, knobs, models
from anira.paper.gsm_symbolic.runs import REPORTED
from anira.paper.gsm_symbolic.verdicts import answer, badge, verdicts
from anira.site import Cell, ChartPart, Page, Section, TablePart, amount, interval, table_part
from anira.site.charts import Legend, seed_layers
from anira.site.style import GREY, tooltip
from anira.site.tables import Column, estimate_table

_NO_SEEDS = pl.DataFrame(schema={"seed": pl.Int64})
_DEPTH = "mean depth of answer tokens"


def make_page(found: Found) -> Page:
    """Return the page."""
    text = (
        "P1 and P2 add one and two clauses. If depth followed the work that a question takes, it should rise from left "
        "to right. The number of clauses is a simple notion of difficulty, and no probe says which token needs more."
    )
    tables = [paper_table(found), *(template_table(found, name) for name in ("accuracy", "depth"))]
    return Page(
        title="GSM-Symbolic: does depth follow the number of clauses?",
        badge=badge(found),
        answer=answer(found),
        lead=_depth(found),
        verdicts=verdicts(found),
        sections=[
            Section(title="The paper's table, and ours", text=[text], parts=tables),
            _curve(found),
            Section(title="How much is chance?", parts=[spread_table(found)]),
        ],
    )


def paper_table(found: Found) -> TablePart:
    """Return the paper's table with a line per evaluated model below the paper's lines."""
    own = estimate_table(
        found.runs,
        {Cell(name, policy): {"run_id": name} for name, policy in models(found).items()},
        [
            *(_column("accuracy", knob, f"{SPLITS[knob]}, accuracy") for knob in knobs(found)),
            *(_column("depth", knob, f"{SPLITS[knob]}, depth", "answer", 3) for knob in knobs(found)),
        ],
        title="Accuracy and mean depth over answer tokens",
        caption="The paper's lines have no intervals. Ours have 95% intervals clustered by template.",
    )
    rows = [
        [
            Cell(name, "paper"),
            *(f"{accuracy[knob]:.2f}%" for knob in knobs(found)),
            *(f"{depth[knob]:.3f}" for knob in knobs(found)),
        ]
        for name, (accuracy, depth) in REPORTED.items()
    ]
    return table_part(own.title, own.head, [*rows, *own.rows], caption=own.caption)


def _column(
    name: str, knob: int, title: str, subset: str = "all", digits: int | None = None, small: str = ""
) -> Column:
    return Column(name, title, subset, small=small, labels={"knob": knob}, digits=digits)


def template_table(found: Found, name: str) -> TablePart:
    """Return accuracy or depth on all templates beside that on the templates that all splits have."""
    subsets = {"accuracy": ("all", "shared"), "depth": ("answer", "answer shared")}[name]
    title = {"accuracy": "Accuracy", "depth": "Mean depth of answer tokens"}[name]
    return estimate_table(
        found.runs,
        {model: {"run_id": model} for model in models(found)},
        [
            _column(name, knob, SPLITS[knob], subset, small=templates)
            for knob in knobs(found)
            for subset, templates in zip(subsets, ("all", "shared"), strict=True)
        ],
        title=f"{title}, all templates and the shared ones",
        caption="P2 has 50 templates, which are among the 100 of Main and P1. Splits compare fairly on those alone.",
    )


def spread_table(found: Found) -> TablePart:
    """Return how accuracy varies over data sets, beside what chance alone would do."""
    heads = [f"{SPLITS[knob]}, {what}" for knob in knobs(found) for what in ("spread", "by chance", "range")]
    rows = [[name, *(cell for knob in knobs(found) for cell in _spread(found, name, knob))] for name in models(found)]
    caption = (
        "A data set has one question from each template. Spread is the standard deviation of accuracy over data sets; "
        "beside it the 95% interval of what independent answers would show."
    )
    return table_part("Spread over data sets", ["model", *heads], rows, caption=caption)


def _spread(found: Found, model: str, knob: int) -> Iterator[Cell]:
    place = {"run_id": model, "knob": knob}
    row, unit = found.row("spread", **place), quantity("spread")
    ends = [found.row(name, **place)["value"] for name in ("lowest", "highest")]
    yield Cell("-", "", row["reason"]) if row["value"] is None else Cell(amount(row["value"], unit))
    yield Cell(interval(row["null_low"], row["null_high"], unit) or "-")
    yield Cell("-" if None in ends else f"{100 * ends[0]:.1f} to {100 * ends[1]:.1f}", f"{row['n']} data sets")


def _curve(found: Found) -> Section:
    forced = found.runs.filter(pl.col("subset").str.contains(r"^depth-\d+$"), quantity="forced_accuracy")
    title = "The fair baseline: fixed depths"
    if forced.is_empty():
        missing = "No model was evaluated at forced depths: anira gsm-symbolic MODEL --data DIR --depth 1:8."
        return Section(title=title, text=[missing])
    subjects = {
        f"{model}, depth {subset.removeprefix('depth-')}": {"run_id": model, "subset": subset}
        for model, subset in forced.select("run_id", "subset").unique(maintain_order=True).iter_rows()
    }
    table = estimate_table(
        found.runs,
        subjects,
        [_column("forced_accuracy", knob, SPLITS[knob]) for knob in knobs(found)],
        title="Fixed-depth curves",
        first="model and depth",
        caption="Accuracy with every token forced to one depth.",
    )
    charts = [
        ChartPart(
            name=f"curve-{knob}",
            title=f"{SPLITS[knob]}: accuracy against depth",
            chart=curve_chart(found, forced.filter(knob=knob), knob),
            caption="Lines: every token at one depth. Large marks: the model's own choice at its mean answer depth.",
        )
        for knob in knobs(found)
    ]
    text = "A model that chooses depth must lie above the line of fixed depths, not only near its right end."
    return Section(title=title, text=[text], parts=[*charts, table])


def _legend(found: Found) -> Legend:
    return Legend({name: name for name in models(found)}, grey=found.words["reference"])


def curve_chart(found: Found, forced: pl.DataFrame, knob: int) -> alt.TopLevelMixin:
    """Return accuracy against depth: fixed depths as lines, each model's own choice as a point with its interval."""
    label = pl.col("run_id").alias("label")
    depth = pl.col("subset").str.strip_prefix("depth-").cast(pl.Float64).alias("depth")
    lines = forced.select(label, depth, "value", "low", "high").sort("label", "depth")
    at = found.runs.filter(knob=knob)
    depths = at.filter(quantity="depth", subset="answer").select("run_id", depth="value")
    own = at.filter(quantity="accuracy", subset="all").join(depths, on="run_id")
    most = int(found.runs.filter(quantity="max_depth")["value"].max())  # type: ignore[arg-type]
    axis, scale = alt.Axis(values=list(range(1, most + 1)), format="d"), alt.Scale(zero=False, padding=14)
    x = alt.X("depth:Q", title=_DEPTH, axis=axis, scale=scale)
    y = alt.Y("value:Q", title="accuracy", axis=alt.Axis(format="%"), scale=alt.Scale(zero=False))
    colour, tips = _legend(found).colour, ["label:N", "depth:Q", "value:Q"]
    line = alt.Chart(lines).mark_line(point=alt.OverlayMarkDef(size=30))
    marks = seed_layers(
        own.select(label, "depth", "value", "low", "high"),
        _NO_SEEDS,
        x,
        y,
        tips,
        color=colour,
        shape=_legend(found).shape,
    )
    return alt.layer(line.encode(x=x, y=y, color=colour, tooltip=tooltip(*tips)), *marks)


def _depth(found: Found) -> ChartPart:
    """Return mean answer depth by split, a line for each model, with the paper's in grey."""
    split = pl.col("knob").replace_strict(dict(enumerate(SPLITS)), return_dtype=pl.String).alias("split")
    rows = found.runs.filter(quantity="depth", subset="answer").drop_nulls("knob")
    table = rows.select(pl.col("run_id").alias("label"), split, "value", "low", "high")
    paper = [
        (f"paper, {name}", SPLITS[knob], depth[knob]) for name, (_, depth) in REPORTED.items() for knob in knobs(found)
    ]
    x = alt.X("split:N", title="split", sort=list(SPLITS), axis=alt.Axis(labelAngle=0))
    y = alt.Y("value:Q", title=_DEPTH, scale=alt.Scale(zero=False))
    legend, tips = _legend(found), ["label:N", "split:N", "value:Q"]
    grey = alt.Chart(pl.DataFrame(paper, schema=["label", "split", "value"], orient="row")).mark_line(
        color=GREY, strokeDash=[4, 3], point=alt.OverlayMarkDef(color=GREY, size=25)
    )
    chart = alt.layer(
        grey.encode(x=x, y=y, detail=alt.Detail("label:N"), tooltip=tooltip(*tips)),
        alt.Chart(table).mark_line().encode(x=x, y=y, color=legend.colour),
        *seed_layers(table, _NO_SEEDS, x, y, tips, color=legend.colour, shape=legend.shape),
    )
    caption = "Dashed: the paper's values. Bars: 95% intervals, clustered by template."
    return ChartPart(name="depth", title="Mean depth of answer tokens by split", chart=chart, caption=caption)
