"""Costs as shares of those at full depth, against mean depth, beside the shares that are expected of the core."""

from collections.abc import Sequence
from typing import Final

import altair as alt
import polars as pl

from anira.measure.savings import share_with_exit
from anira.paper.cost.measure import BATCH, Found
from anira.site.charts import Legend
from anira.site.style import GREY, colours, shapes

_KEYS: Final = ["task", "variant", "seed", "decode", "subset"]
_X: Final = alt.X("x:Q", title="mean depth d, of the largest depth D", axis=alt.Axis(format="%"))
_TIPS: Final = ["task:N", "label:N", "decode:N", "subset:N", "x:Q", "value:Q"]
_COUNTED: Final = {"execution_ratio": "FLOPs, core", "core_bytes_ratio": "key-value bytes, core"}


def batches(found: Found) -> list[str]:
    """Return how rows were decoded, small batches first."""
    names = found.runs.filter(pl.col("decode").str.starts_with(BATCH))["decode"].unique()
    return sorted(names, key=batch_size)


def batch_size(decode: str) -> int:
    """Return how many rows were decoded at once."""
    return int(decode.removeprefix(BATCH))


def saved_chart(found: Found) -> alt.TopLevelMixin:
    """Return what the runs' own depths cost: FLOPs and bytes of the core, and time at each batch size."""
    timed = {decode: f"time, {batch_size(decode)} at once" for decode in batches(found)}
    names = [*_COUNTED.values(), *timed.values()]
    label = (
        pl.when(pl.col("quantity") == "time_ratio")
        .then(pl.col("decode").replace(timed))
        .otherwise(pl.col("quantity").replace(_COUNTED))
        .alias("label")
    )
    means, single = (
        _points(table, [*_COUNTED, "time_ratio"]).filter(subset="own").with_columns(label)
        for table in (found.seeds, found.runs)
    )
    y, colour, shape = _y("cost, of that at full depth"), colours(names, "cost"), shapes(names, "cost")
    seeds = alt.Chart(single).mark_point(size=18, opacity=0.5)
    large = alt.Chart(means).mark_point(filled=True, size=90, opacity=1)
    return alt.layer(
        *_expected(found, means["task"].unique()),
        seeds.encode(x=_X, y=y, color=colour, shape=shape, tooltip=["variant:N", "seed:O", *_TIPS]),
        large.encode(x=_X, y=y, color=colour, shape=shape, tooltip=["variant:N", *_TIPS]),
    )


def depth_chart(
    found: Found, task: str, quantity: str, decode: str, *, title: str, legend: Legend
) -> alt.TopLevelMixin:
    """Return one cost of one task: runs at their own depths, and the same weights at one depth for all tokens."""
    chosen = {"task": task, "decode": decode}
    means, single = (legend.of(_points(table.filter(**chosen), [quantity])) for table in (found.seeds, found.runs))
    own, forced = means.filter(subset="own"), means.filter(pl.col("subset") != "own")
    y, colour, shape = _y(title), legend.colour, legend.shape
    line = alt.Chart(forced).encode(x=_X, y=y, color=colour)
    bars = alt.Chart(own.drop_nulls("low")).mark_rule(strokeWidth=2)
    seeds = alt.Chart(single.filter(subset="own")).mark_point(size=18, opacity=0.5)
    large = alt.Chart(own).mark_point(filled=True, size=110, opacity=1)
    return alt.layer(
        *_expected(found, [task]),
        line.mark_line(strokeWidth=1),
        line.mark_point(size=50, filled=False).encode(shape=shape, tooltip=_TIPS),
        bars.encode(x=_X, y=alt.Y("low:Q", title=title), y2="high:Q", color=colour),
        seeds.encode(x=_X, y=y, color=colour, tooltip=["seed:O", *_TIPS]),
        large.encode(x=_X, y=y, color=colour, shape=shape, tooltip=_TIPS),
    )


def _points(table: pl.DataFrame, quantities: Sequence[str]) -> pl.DataFrame:
    """Return costs with the mean depth that they go with, as a share, in column x."""
    depth = table.filter(quantity="iterations_share").select(*_KEYS, x="value")
    costs = table.filter(pl.col("quantity").is_in(quantities)).drop_nulls("value")
    shown = costs.select(*_KEYS, "quantity", "value", "low", "high")
    return shown.join(depth, on=_KEYS, nulls_equal=True).sort("x")


def _expected(found: Found, tasks: Sequence[str] | pl.Series) -> list[alt.Chart]:
    """Return the lines d/D, dotted, and (d + 1)/D, at most 1, dashed, for each largest depth D of some tasks."""
    rows = found.seeds.filter(pl.col("task").is_in(list(tasks)), quantity="max_depth")
    curves = {"d/D": [(0.0, 0.0), (1.0, 1.0)]}
    for depth in rows["value"].unique().sort().cast(pl.Int64):
        curves[f"(d + 1)/D, D = {depth}"] = [(d / depth, share_with_exit(d, depth)) for d in (0, depth - 1, depth)]
    return [
        alt.Chart(pl.DataFrame(points, schema=["x", "value"], orient="row").with_columns(expected=pl.lit(name)))
        .mark_line(color=GREY, strokeWidth=1.3, strokeDash=[1, 2] if name == "d/D" else [6, 3])
        .encode(x=_X, y="value:Q", tooltip=["expected:N"])
        for name, points in curves.items()
    ]


def _y(title: str) -> alt.Y:
    return alt.Y("value:Q", title=title, axis=alt.Axis(format="%"))
