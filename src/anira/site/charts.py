"""Charts that several pages have: filters of the tidy table with an encoding."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import altair as alt
import polars as pl
from altair.utils.schemapi import UndefinedType

from anira.measure import Quantity, quantity
from anira.site.page import ChartPart
from anira.site.style import COLOURS, GREY, colours, shapes, tooltip
from anira.site.tables import Column

MARKS: Final = "Large marks: means over seeds with 95% t intervals (with one seed: over instances); small marks: seeds."
_TIPS = ["label:N", "value:Q", "low:Q", "high:Q"]
_TICKS = 20
NO_MARKS: Final = pl.DataFrame(schema={"label": pl.String, "value": pl.Float64})
"""The paper's values where it gives none."""
_NARROWEST = 0.2  # span of an axis, in iterations or as a share


class Legend(NamedTuple):
    """Who is drawn, and how they are told apart."""

    names: Mapping[str, str]
    """Variants that are shown, and what they are called."""
    title: str = "model"
    grey: str = ""
    """The name of what the others are held against."""

    @property
    def colour(self) -> alt.Color:
        """A colour for each."""
        return colours(list(self.names.values()), self.title, grey=self.grey)

    @property
    def shape(self) -> alt.Shape:
        """A shape for each."""
        return shapes(list(self.names.values()), self.title)

    def of(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of those that are shown, with `label`."""
        label = pl.col("variant").replace_strict(dict(self.names), return_dtype=pl.String).alias("label")
        return rows.filter(pl.col("variant").is_in(list(self.names))).with_columns(label)


def knob_chart(
    seeds: pl.DataFrame,
    runs: pl.DataFrame,
    shown: Column,
    *,
    legend: Legend,
    knob: str,
    edge: float | None = None,
) -> alt.LayerChart | alt.FacetChart:
    """Return a quantity by knob: a line for the mean over seeds, its band, and a small mark for each seed.

    `edge` marks where training ends.
    """
    means, single = (_by_knob(table, shown, legend) for table in (seeds, runs))
    x = alt.X("knob:Q", title=knob, axis=whole_axis(means["knob"]))
    marks: dict[str, Any] = {"color": legend.colour, "shape": legend.shape}
    y = value_axis(shown, pl.concat([means, single]))
    layers = seed_layers(means, single, x, y, ["label:N", "knob:Q", "value:Q"], band=True, **marks)
    return alt.layer(*layers, *([_rule(edge)] if edge is not None else []))


def value_axis(shown: Column, rows: pl.DataFrame | None = None) -> alt.Y:
    """Return an axis for the values of a quantity, at least so wide that what hardly differs in these rows is flat."""
    unit = quantity(shown.quantity)
    form = alt.Axis(format="%") if unit.percent else alt.Axis()
    return alt.Y(
        "value:Q", title=shown.title, axis=form, scale=alt.Scale(zero=False) if rows is None else _scale(rows, unit)
    )


def seed_layers(
    means: pl.DataFrame,
    single: pl.DataFrame,
    x: alt.X,
    y: alt.Y,
    tips: Sequence[str],
    *,
    band: bool = False,
    shape: alt.Shape | UndefinedType = alt.Undefined,
    **places: Any,
) -> list[alt.Chart]:
    """Return a large mark with its interval for each mean, joined by a line and a band if asked, and one per seed."""
    ends = alt.Chart(means).mark_area(opacity=0.15) if band else alt.Chart(means).mark_rule(strokeWidth=2)
    large, small = alt.Chart(means).mark_point(filled=True, size=80, opacity=1), alt.Chart(single).mark_point(size=20)
    return [
        ends.encode(x=x, y=alt.Y("low:Q", title=y["title"]), y2=alt.Y2("high:Q"), **places),
        *([alt.Chart(means).mark_line().encode(x=x, y=y, **places)] if band else []),
        small.encode(x=x, y=y, shape=shape, opacity=alt.value(0.6), tooltip=tooltip("seed:O", *tips), **places),
        large.encode(x=x, y=y, shape=shape, tooltip=tooltip(*tips, "low:Q", "high:Q"), **places),
    ]


def forced_chart(seeds: pl.DataFrame, *, legend: Legend) -> alt.TopLevelMixin:
    """Return accuracy against forced depth at the hardest knob of training; it is flat where depth is not needed."""
    rows = seeds.filter(quantity="forced_accuracy", split="seen").drop_nulls("knob")
    hardest = legend.of(rows.filter(pl.col("knob") == pl.col("knob").max().over("variant")))
    depth = pl.col("subset").str.strip_prefix("depth-").cast(pl.Int64).alias("depth")
    table = hardest.select("label", depth, "knob", "value", "low", "high").sort("depth")
    x = alt.X("depth:Q", title="depth that every token is forced to", axis=whole_axis(table["depth"]))
    y = alt.Y("value:Q", title="accuracy at the hardest knob", axis=alt.Axis(format="%"))
    base = alt.Chart(table).encode(x=x, y=y, color=legend.colour, tooltip=tooltip("depth:Q", "knob:Q", *_TIPS))
    return alt.layer(base.mark_line(), base.mark_point(filled=True, size=60).encode(shape=legend.shape))


def labelled(rows: pl.DataFrame, names: Mapping[Any, str], by: Sequence[str]) -> pl.DataFrame:
    """Return the rows that `names` has by the values of some columns, with what it calls them as `label`."""
    known = pl.DataFrame([(*key, label) for key, label in names.items()], schema=[*by, "label"], orient="row")
    return rows.join(known, on=by, maintain_order="left")


def interval_part(
    rows: pl.DataFrame,
    *,
    name: str,
    title: str,
    axis: str,
    order: Iterable[str] | None = None,
    caption: str = MARKS,
    paper: Mapping[str, float | None] | None = None,
    nulls: bool = False,
) -> ChartPart | None:
    """Return the estimates of each `label` with their seeds; None where there are none.

    `paper` has the paper's values by label; `nulls` shows the range of each that shuffled records give.
    """
    columns = ["label", "seed", "value", "low", "high", *(["null_low", "null_high"] if nulls else [])]
    drawn = rows.drop_nulls("value").select(columns)
    if drawn.is_empty():
        return None
    alone = _alone(drawn)
    drawn = drawn.with_columns(pl.col("label").replace(alone))
    order = None if order is None else [alone.get(label, label) for label in order]
    paper = {alone.get(label, label): value for label, value in (paper or {}).items()}
    labels = drawn["label"].unique(maintain_order=True)
    kept = [label for label in labels if order is None] or [label for label in order or () if label in labels]
    known = [(label, value) for label, value in (paper or {}).items() if value is not None and label in labels]
    hollow = pl.DataFrame(known, schema={"label": pl.String, "value": pl.Float64}, orient="row")
    chart = interval_chart(drawn, kept, axis, hollow)
    return ChartPart(name=name, title=title, chart=chart, caption=caption + " Hollow: the paper." * bool(known))


def _alone(rows: pl.DataFrame) -> dict[str, str]:
    """Return labels that stand on one seed, whose interval is not over seeds, with that said in them."""
    counts = rows.drop_nulls("seed").group_by("label").agg(pl.col("seed").n_unique())
    return {label: f"{label} (1 seed)" for label, seeds in counts.iter_rows() if seeds == 1}


def interval_chart(
    rows: pl.DataFrame, order: Sequence[str], title: str, paper: pl.DataFrame = NO_MARKS
) -> alt.TopLevelMixin:
    """Return estimates one below the other: a large mark and its interval for `label`, a small mark for each seed.

    `seed` is null for what is over seeds; where rows have null_low and null_high, a grey bar shows that range. `paper`
    has the paper's values (label, value), which are drawn hollow.
    """
    x = alt.X("value:Q", title=title)
    y = alt.Y("label:N", title=None, sort=list(order), axis=alt.Axis(labelLimit=260))
    whole, single = rows.filter(pl.col("seed").is_null()), rows.drop_nulls("seed")
    line = alt.Chart(whole).mark_rule(strokeWidth=2, color=COLOURS[0])
    mark = alt.Chart(whole).mark_point(filled=True, size=90, color=COLOURS[0], opacity=1)
    hollow = alt.Chart(paper).mark_point(size=110, filled=False, strokeWidth=2, color=COLOURS[1], shape="diamond")
    return alt.layer(
        _rule(0.0),
        *([_range(whole, title, y)] if "null_low" in whole.columns else []),
        line.encode(x=alt.X("low:Q", title=title), x2=alt.X2("high:Q"), y=y),
        alt.Chart(single).mark_point(size=25, color=GREY).encode(x=x, y=y, tooltip=tooltip("seed:O", *_TIPS)),
        mark.encode(x=x, y=y, tooltip=tooltip(*_TIPS)),
        hollow.encode(x=x, y=y, tooltip=tooltip("label:N", alt.Tooltip("value:Q", title="paper"))),
    )


def _scale(rows: pl.DataFrame, unit: Quantity) -> alt.Scale:
    """Return a scale around the values; where they hardly differ it is not as narrow as they are.

    >>> _scale(pl.DataFrame({"value": [2.5], "low": [2.499], "high": [2.501]}), quantity("depth")).domain
    [2.4, 2.6]
    """
    ends: list[float] = rows.select(pl.concat_list("value", "low", "high").explode()).to_series().drop_nulls().to_list()
    if not ends or max(ends) - min(ends) >= _NARROWEST:
        return alt.Scale(zero=False)
    middle = (min(ends) + max(ends)) / 2
    low, high = round(middle - _NARROWEST / 2, 2), round(middle + _NARROWEST / 2, 2)
    return alt.Scale(domain=[max(low, 0.0), min(high, 1.0)] if unit.percent else [low, high])


def whole_axis(values: pl.Series) -> alt.Axis:
    """Return an axis with a tick at each whole number that occurs, unless they are many."""
    ticks = values.unique().sort().to_list()
    return alt.Axis(values=ticks, format="d") if len(ticks) <= _TICKS else alt.Axis(tickMinStep=1, format="d")


def _range(rows: pl.DataFrame, title: str, y: alt.Y) -> alt.Chart:
    bar = alt.Chart(rows.drop_nulls("null_low")).mark_bar(height=14, color=GREY, opacity=0.25)
    tips = [alt.Tooltip("null_low:Q", title="shuffled, low"), alt.Tooltip("null_high:Q", title="shuffled, high")]
    made: alt.Chart = bar.encode(
        x=alt.X("null_low:Q", title=title), x2=alt.X2("null_high:Q"), y=y, tooltip=tooltip("label:N", *tips)
    )
    return made


def _rule(at: float) -> alt.Chart:
    line: alt.Chart = (
        alt.Chart(pl.DataFrame({"x": [at]})).mark_rule(strokeDash=[4, 3], color=GREY).encode(x=alt.X("x:Q"))
    )
    return line


def _by_knob(table: pl.DataFrame, shown: Column, legend: Legend) -> pl.DataFrame:
    rows = legend.of(table.filter(quantity=shown.quantity, subset=shown.subset).drop_nulls(["knob", "value"]))
    return rows.select("label", "seed", "knob", "value", "low", "high").sort("label", "knob")
