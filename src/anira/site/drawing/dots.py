"""Values with their intervals on a scale of their own, one row of a figure for each thing that was measured."""

from collections.abc import Mapping

import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from anira.site.drawing.style import INK, PAPER, SOFT, Style, thinness
from anira.site.drawing.svg import draw

_WIDTH, _ROW, _FRAME = 380, 44, 76  # pixels
_APART = 0.6  # share of a row over which the runs stand apart


def dots_figure(
    table: pl.DataFrame, rows: Mapping[str, str], looks: Mapping[str, Style], *, name: str, title: str, below: str
) -> str:
    """Draw values and their bars, a row of the figure for each of `rows` (key -> words), runs below each other in it.

    `table` has one row a label and key: label, key, value, low, high; and `paper`, drawn hollow where there is one.
    """

    def paint(figure: Figure) -> None:
        axes = figure.add_axes((0.40, 44 / height, 0.57, (height - _FRAME) / height))
        axes.set_title(title, loc="left", fontsize=11, color=INK, pad=7, x=-0.7)
        axes.axvline(0, color=SOFT, linewidth=0.8)
        size = thinness(looks.values())
        for i, (label, look) in enumerate(looks.items()):
            part = table.filter(pl.col("label") == label, pl.col("key").is_in(list(rows))).drop_nulls("value")
            shift = _APART * ((i + 0.5) / len(looks) - 0.5)
            at = [list(rows).index(key) + shift for key in part["key"]]
            axes.hlines(at, part["low"], part["high"], color=look.colour, linewidth=1.6 * size)
            axes.plot(part["value"], at, look.marker, color=look.colour, markersize=6 * size)
            axes.plot(part["paper"], at, look.marker, color=look.colour, markerfacecolor=PAPER, markersize=6 * size)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_yticks(range(len(rows)), list(rows.values()))
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.xaxis.grid(True)
        axes.set_xlabel(below)

    height = _FRAME + _ROW * len(rows)
    return draw(name, f"{title}: {', '.join(rows.values())}, for {', '.join(looks)}.", (_WIDTH, height), paint)
