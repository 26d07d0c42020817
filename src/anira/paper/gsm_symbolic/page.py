"""The page: what the paper reports and what we find, the fixed-depth curve, and how much chance explains."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from anira.paper.gsm_symbolic.measure import SPLITS, Found
from anira.paper.gsm_symbolic.runs import REPORTED
from anira.paper.gsm_symbolic.tables import curve_table, paper_table, spread_table, template_table
from anira.paper.gsm_symbolic.verdicts import answer, badge, verdicts
from anira.site import ChartPart, Page, Section, read_notes
from anira.site.style import GREY, colours, shapes

_SPLIT = pl.col("knob").replace_strict(dict(enumerate(SPLITS)), return_dtype=pl.String).alias("split")


def make_page(found: Found, *, files: Sequence[str]) -> Page:
    """Return the page."""
    sections = [_table(found), _curve(found), _spread(found)]
    return Page(
        title="GSM-Symbolic: does depth follow the number of clauses?",
        badge=badge(found),
        answer=answer(found),
        lead=_depth(found),
        verdicts=verdicts(found),
        sections=[*sections, Section(title="How to read this page", notes=read_notes("anira.paper.gsm_symbolic"))],
        files=files,
        command="anira reproduce gsm-symbolic",
    )


def _table(found: Found) -> Section:
    templates = [template_table(found, name) for name in ("accuracy", "depth")]
    text = (
        "P1 and P2 add one and two clauses. If depth followed the work that a question takes, it should rise from left "
        "to right. The number of clauses is a simple notion of difficulty, and no probe says which token needs more."
    )
    parts = [paper_table(found), *templates]
    return Section(title="The paper's table, and ours", text=[text], parts=parts, open=True)


def _curve(found: Found) -> Section:
    table = curve_table(found)
    if table is None:
        missing = "No model was evaluated at forced depths: anira gsm-symbolic MODEL --data DIR --depth 1:8."
        return Section(title="The fair baseline: fixed depths", text=[missing])
    parts = [
        ChartPart(
            name=f"curve-{knob}",
            title=f"{SPLITS[knob]}: accuracy against depth",
            chart=curve_chart(found, knob),
            caption="Lines: every token at one depth. Large marks: the model's own choice at its mean answer depth.",
        )
        for knob in found.knobs
    ]
    text = "A model that chooses depth must lie above the line of fixed depths, not only near its right end."
    return Section(title="The fair baseline: fixed depths", text=[text], parts=[*parts, table])


def curve_chart(found: Found, knob: int) -> alt.TopLevelMixin:
    """Return accuracy against depth: fixed depths as lines, each model's own choice as a point with its interval."""
    forced = found.table.filter(
        (pl.col("quantity") == "forced_accuracy") & (pl.col("knob") == knob) & ~pl.col("subset").str.ends_with("shared")
    )
    depth = pl.col("subset").str.strip_prefix("depth-").cast(pl.Float64).alias("depth")
    lines = forced.select(pl.col("run_id").alias("label"), depth, "value", "low", "high").sort("label", "depth")
    own = pl.DataFrame([_own(found, model, knob) for model in found.models], schema_overrides=_OWN)
    most = max(int(found.row(model, "max_depth", None)["value"]) for model in found.models)
    axis, scale = alt.Axis(values=list(range(1, most + 1)), format="d"), alt.Scale(zero=False, padding=14)
    x = alt.X("depth:Q", title="mean depth of answer tokens", axis=axis, scale=scale)
    y = alt.Y("value:Q", title="accuracy", axis=alt.Axis(format="%"), scale=alt.Scale(zero=False))
    colour, shape = colours(found.models, "model", grey=found.reference), shapes(found.models, "model")
    tips = ["label:N", "depth:Q", "value:Q", "low:Q", "high:Q"]
    layers = [
        alt.Chart(lines).mark_line(point=alt.OverlayMarkDef(size=30)).encode(x=x, y=y, color=colour, tooltip=tips),
        alt.Chart(own).mark_rule().encode(x=x, y=alt.Y("low:Q", title="accuracy"), y2="high:Q", color=colour),
        alt.Chart(own).mark_point(size=140, filled=True).encode(x=x, y=y, color=colour, shape=shape, tooltip=tips),
    ]
    return alt.layer(*layers)


_OWN = dict.fromkeys(("depth", "value", "low", "high"), pl.Float64)


def _own(found: Found, model: str, knob: int) -> dict[str, object]:
    row, depth = found.row(model, "accuracy", knob), found.row(model, "depth", knob, "answer")["value"]
    return {"label": model, "depth": depth, **{name: row[name] for name in ("value", "low", "high")}}


def _depth(found: Found) -> ChartPart:
    return ChartPart(
        name="depth",
        title="Mean depth of answer tokens by split",
        chart=depth_chart(found),
        caption="Dashed: the paper's values. Bars: 95% intervals, clustered by template.",
    )


def depth_chart(found: Found) -> alt.TopLevelMixin:
    """Return mean answer depth by split, a line for each model, with the paper's in grey."""
    rows = found.table.filter(quantity="depth", subset="answer").drop_nulls("knob")
    table = rows.select(pl.col("run_id").alias("label"), _SPLIT, "value", "low", "high")
    paper = pl.DataFrame(
        [
            {"name": f"paper, {one.name}", "split": SPLITS[knob], "value": one.depth[knob]}
            for one in REPORTED
            for knob in found.knobs
        ]
    )
    x = alt.X("split:N", title="split", sort=list(SPLITS), axis=alt.Axis(labelAngle=0))
    y = alt.Y("value:Q", title="mean depth of answer tokens", scale=alt.Scale(zero=False))
    colour, tips = (
        colours(found.models, "model", grey=found.reference),
        ["label:N", "split:N", "value:Q", "low:Q", "high:Q"],
    )
    grey = alt.Chart(paper).mark_line(color=GREY, strokeDash=[4, 3], point=alt.OverlayMarkDef(color=GREY, size=25))
    base = alt.Chart(table).encode(x=x, color=colour)
    layers = [
        grey.encode(x=x, y=y, detail="name:N", tooltip=["name:N", "split:N", "value:Q"]),
        base.mark_line().encode(y=y),
        base.mark_rule().encode(y=alt.Y("low:Q", title="mean depth of answer tokens"), y2="high:Q"),
        base.mark_point(filled=True, size=70).encode(y=y, shape=shapes(found.models, "model"), tooltip=tips),
    ]
    return alt.layer(*layers)


def _spread(found: Found) -> Section:
    return Section(title="How much is chance?", parts=[spread_table(found)])
