"""Costs as shares of those at full depth, against mean depth, beside the shares that are expected of the core."""

from collections.abc import Sequence
from typing import Any, Final

import altair as alt
import polars as pl

from anira.measure.savings import share_with_exit
from anira.paper.cost.measure import BATCH
from anira.paper.found import Found
from anira.site.charts import Legend, seed_layers
from anira.site.style import GREY, colours, shapes, tooltip
from anira.site.verdicts import NAMES

_KEYS: Final = ["task", "variant", "seed", "decode", "subset"]
_X: Final = alt.X("x:Q", title="mean depth d, of the largest depth D", axis=alt.Axis(format="%"))
_Y: Final = alt.Y("value:Q", title="cost, of that at full depth", axis=alt.Axis(format="%"))
_TIPS: Final = ["task:N", "variant:N", "label:N", "decode:N", "subset:N", "x:Q", "value:Q"]
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
    counted = pl.col("quantity").replace_strict(_COUNTED, default=pl.col("decode").replace(timed)).alias("label")
    means, single = (
        _points(table, [*_COUNTED, "time_ratio"]).filter(subset="own").with_columns(counted)
        for table in (found.seeds, found.runs)
    )
    places: dict[str, Any] = {"color": colours(names, "cost"), "shape": shapes(names, "cost")}
    return alt.layer(
        *_expected(found, means["task"].unique().to_list()), *seed_layers(means, single, _X, _Y, _TIPS, **places)
    )


def depth_chart(found: Found, quantity: str, decode: str) -> alt.TopLevelMixin:
    """Return one cost of one task: runs at their own depths, and the same weights at one depth for all tokens."""
    legend = Legend(NAMES)
    means, single = (legend.of(_points(table.filter(decode=decode), [quantity])) for table in (found.seeds, found.runs))
    forced = alt.Chart(means.filter(pl.col("subset") != "own")).encode(x=_X, y=_Y, color=legend.colour)
    own = seed_layers(
        means.filter(subset="own"),
        single.filter(subset="own"),
        _X,
        _Y,
        _TIPS,
        color=legend.colour,
        shape=legend.shape,
    )
    return alt.layer(
        *_expected(found, [found.task]),
        forced.mark_line(strokeWidth=1),
        forced.mark_point(size=50, filled=False).encode(shape=legend.shape, tooltip=tooltip(*_TIPS)),
        *own,
    )


def _points(table: pl.DataFrame, quantities: Sequence[str]) -> pl.DataFrame:
    """Return costs with the mean depth that they go with, as a share, in column x."""
    depth = table.filter(quantity="iterations_share").select(*_KEYS, x="value")
    costs = table.filter(pl.col("quantity").is_in(quantities)).drop_nulls("value")
    drawn = costs.select(*_KEYS, "quantity", "value", "low", "high")
    return drawn.join(depth, on=_KEYS, nulls_equal=True).sort("x")


def _expected(found: Found, tasks: Sequence[str]) -> list[alt.Chart]:
    """Return the lines d/D, dotted, and (d + 1)/D, at most 1, dashed, for each largest depth D of some tasks."""
    rows = found.seeds.filter(pl.col("task").is_in(tasks), quantity="max_depth")
    curves = {"d/D": [(0.0, 0.0), (1.0, 1.0)]}
    for depth in rows["value"].unique().sort().cast(pl.Int64):
        curves[f"(d + 1)/D, D = {depth}"] = [(d / depth, share_with_exit(d, depth)) for d in (0, depth - 1, depth)]
    return [
        alt.Chart(pl.DataFrame(points, schema=["x", "value"], orient="row").with_columns(expected=pl.lit(name)))
        .mark_line(color=GREY, strokeWidth=1.3, strokeDash=[1, 2] if name == "d/D" else [6, 3])
        .encode(x=_X, y=alt.Y("value:Q"), tooltip=tooltip("expected:N"))
        for name, points in curves.items()
    ]
