"""Charts of a comparison, from its tidy table: filters with an encoding."""

import altair as alt
import polars as pl

from anira.paper.policies.measure import Compared, is_fixed
from anira.site.style import GREY, colours, shapes

_X = {"iterations": "executed iterations per token", "flops": "FLOPs per token, all of the model"}


def compute_chart(found: Compared, compute: str) -> alt.TopLevelMixin:
    """Return accuracy against compute: the curve of fixed depths, each policy's mean, its seeds and its thresholds."""
    means = _pairs(found.seeds, compute, ["variant"])
    fixed = means.filter(pl.col("variant").map_elements(is_fixed, return_dtype=pl.Boolean)).sort("x")
    policies = [name for name in found.policies if not is_fixed(name)]
    judged = _named(means.filter(pl.col("variant").is_in(policies)))
    seeds = _named(_pairs(main_runs(found), compute, ["variant", "seed"]).filter(pl.col("variant").is_in(policies)))
    rules = [_pairs(table, compute, ["variant", "select", "threshold"]) for table in (found.swept, found.seeds)]
    swept = _named(pl.concat(rules).drop_nulls("threshold").filter(pl.col("variant").is_in(policies)))
    x = alt.X("x:Q", title=_X[compute], scale=alt.Scale(zero=False))
    y = alt.Y("y:Q", title="accuracy over knobs of training", scale=alt.Scale(zero=False), axis=alt.Axis(format="%"))
    line = alt.Chart(fixed).mark_line(color=GREY, point=alt.OverlayMarkDef(color=GREY, size=40))
    colour, shape = colours(policies, "policy"), shapes(policies, "policy")
    layers = [
        line.encode(x=x, y=y, tooltip=["variant:N", "x:Q", "y:Q"]),
        alt.Chart(swept)
        .mark_line(strokeWidth=1, point=alt.OverlayMarkDef(size=14))
        .encode(
            x=x, y=y, color=colour, order="threshold:Q", tooltip=["label:N", "select:N", "threshold:Q", "x:Q", "y:Q"]
        ),
        alt.Chart(seeds)
        .mark_point(size=25, opacity=0.6)
        .encode(x=x, y=y, color=colour, shape=shape, tooltip=["label:N", "seed:O", "x:Q", "y:Q"]),
        alt.Chart(judged)
        .mark_point(size=140, filled=True)
        .encode(x=x, y=y, color=colour, shape=shape, tooltip=["label:N", "x:Q", "y:Q"]),
    ]
    return alt.layer(*layers)


def twin_chart(found: Compared, twin: Compared) -> alt.TopLevelMixin:
    """Return answer depth by knob on a task and its twin: solid and dashed."""
    parts = [one.rows("depth", "answer").drop_nulls(["knob", "value"]) for one in (found, twin)]
    table = pl.concat(parts).filter(pl.col("variant").is_in(list(found.policies)))
    chart: alt.TopLevelMixin = (
        alt.Chart(_named(table.select("task", "variant", "knob", "value")))
        .mark_line(point=True)
        .encode(
            x=alt.X("knob:Q", title="knob", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("value:Q", title="mean answer depth", scale=alt.Scale(zero=False)),
            color=colours(found.policies, "policy"),
            strokeDash=alt.StrokeDash("task:N", title="task"),
            tooltip=["label:N", "task:N", "knob:Q", "value:Q"],
        )
    )
    return chart


def main_runs(found: Compared) -> pl.DataFrame:
    """Return the rows of runs, by each policy's default rule."""
    rule = ["run_id", "select", "threshold", "decode"]
    rules = found.runs.filter(quantity="max_depth").select(rule)
    return found.runs.join(rules, on=rule, how="semi", nulls_equal=True)


def _pairs(table: pl.DataFrame, compute: str, by: list[str]) -> pl.DataFrame:
    """Return (compute, accuracy) as columns x and y for each group over all knobs of training."""
    whole = table.filter(pl.col("knob").is_null() & (pl.col("subset") == "all") & (pl.col("split") == "seen"))
    x, y = (
        whole.filter(quantity=name).select(*by, pl.col("value").alias(to))
        for name, to in ((compute, "x"), ("accuracy", "y"))
    )
    return x.join(y, on=by, nulls_equal=True)


def _named(table: pl.DataFrame) -> pl.DataFrame:
    return table.rename({"variant": "label"})
