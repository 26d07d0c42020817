"""How all charts look: one size, one set of colours and shapes, ink that follows the page in light and dark."""

import itertools
from collections.abc import Sequence
from typing import Any, Final

import altair as alt

from anira.site.toggles import with_toggles

COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#a6761d")
"""Okabe and Ito's, which people with any colour vision can tell apart, and three more; shapes tell apart the rest."""
SHAPES: Final = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
GREY: Final = "#7f7f7f"
HEIGHT: Final = 320


def colours(names: Sequence[str], title: str, *, grey: str = "fixed") -> alt.Color:
    """Return a colour for each name, in their order; what the others are held against is grey."""
    palette = itertools.cycle(COLOURS)
    scale = alt.Scale(domain=list(names), range=[GREY if name == grey else next(palette) for name in names])
    return alt.Color("label:N", scale=scale, title=title)


def shapes(names: Sequence[str], title: str) -> alt.Shape:
    """Return a shape for each name."""
    scale = alt.Scale(domain=list(names), range=[SHAPES[i % len(SHAPES)] for i in range(len(names))])
    return alt.Shape("label:N", scale=scale, title=title)


def tooltip(*fields: str | alt.Tooltip) -> list[alt.Tooltip]:
    """Return what a mark says under the mouse. Altair would find out by itself what strings are, at 10 ms for each."""
    return [field if isinstance(field, alt.Tooltip) else alt.Tooltip(field) for field in fields]


def themed(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """Return a chart's specification as wide as its place on the page, with the style of all charts."""
    made = chart.properties(width="container", height=HEIGHT).configure(
        background="transparent",
        font="system-ui, sans-serif",
        view=alt.ViewConfig(stroke=None),
        tooltipFormat=alt.FormatConfig(numberFormat=".4~g"),
        axis=alt.AxisConfig(labelFontSize=12, titleFontSize=13, titleFontWeight="normal", labelOverlap=True),
        axisX=alt.AxisConfig(tickCount=8),
        legend=alt.LegendConfig(
            orient="bottom",
            labelLimit=220,
            labelFontSize=12,
            titleFontSize=12,
            symbolSize=90,
            symbolOpacity=1,
        ),
    )
    # Altair's own check of a whole chart takes longer than making it; tests/integration/test_page_browser.py has it.
    return with_toggles(made.to_dict(validate=False))
