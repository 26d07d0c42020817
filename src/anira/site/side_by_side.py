"""Two runs side by side, as a piece of HTML: accuracy and depth by knob as charts, and their differences in a table."""

from collections.abc import Sequence
from typing import Final

import altair as alt
import polars as pl

from anira.measure import quantity
from anira.measure.quantities import Quantity
from anira.site.charts import whole_axis
from anira.site.fragments import chart_svg, columns, fragment, heading, table
from anira.site.style import colours
from anira.site.values import amount, interval

_TITLES: Final = {"accuracy": "accuracy", "depth": "mean answer depth"}


def side_by_side(rows: pl.DataFrame, names: Sequence[str], knob: str) -> str:
    """Return rows of `measure.paired` as HTML; `names` are those of the first and the second run."""
    parts = []
    for subtask, own in rows.group_by("subtask", maintain_order=True):
        charts = [chart_svg(_chart(own.filter(quantity=name), names, knob, name)) for name in _TITLES]
        parts += [heading(str(subtask[0])), columns(*charts), _table(own, names, knob)]
    return fragment(*parts)


def _chart(rows: pl.DataFrame, names: Sequence[str], knob: str, name: str) -> alt.TopLevelMixin:
    sides = [
        rows.select("knob", value=pl.col(side), label=pl.lit(label))
        for side, label in zip(("first", "second"), names, strict=True)
    ]
    axis = alt.Axis(format="%") if quantity(name).percent else alt.Axis()
    base = alt.Chart(pl.concat(sides)).encode(
        x=alt.X("knob:Q", title=knob, axis=whole_axis(rows["knob"])),
        y=alt.Y("value:Q", title=_TITLES[name], axis=axis, scale=alt.Scale(zero=False)),
        color=colours(list(names), "run", grey=""),
    )
    return alt.layer(base.mark_line(), base.mark_point(filled=True, size=60, opacity=1))


def _table(rows: pl.DataFrame, names: Sequence[str], knob: str) -> str:
    head = [knob, "quantity", *names, "difference", "95% interval", "n"]
    found = [[str(row["knob"]), _TITLES[row["quantity"]], *_cells(row)] for row in rows.iter_rows(named=True)]
    paired = (
        "on the same instances" if rows["paired"].all() else "on different instances where knobs have none in common"
    )
    return table(head, found, caption=f"Compared {paired}; the interval is over instances, not over seeds.")


def _cells(row: dict[str, float]) -> list[str]:
    name = str(row["quantity"])
    unit = quantity(name)
    points = quantity("need") if unit.percent else unit
    return [
        amount(row["first"], unit),
        amount(row["second"], unit),
        _signed(row["difference"], points),
        interval(row["low"], row["high"], points),
        str(row["n"]),
    ]


def _signed(value: float, unit: Quantity) -> str:
    text = amount(value, unit)
    return text if text.startswith(("+", "-")) else f"+{text}"
