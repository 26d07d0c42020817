"""Values with their intervals beside each other, one row of a figure for each thing that was measured."""

from collections.abc import Mapping

import polars as pl
from matplotlib.figure import Figure

from anira.site.drawing.style import INK, PAPER, SOFT, Style, thinness
from anira.site.drawing.svg import draw

_WIDTH, _ROW, _FRAME = 380, 38, 70  # pixels
_APART, _ROOM = 0.17, 0.7  # shares of a row: by which runs stand apart, and that all of them may take


def forest_figure(
    table: pl.DataFrame, value: str, rows: Mapping[str, str], looks: Mapping[str, Style], *, name: str, title: str
) -> str:
    """Draw correlations from -1 to 1, a row of the figure for each proxy, one below the other.

    `table` has one row a label and proxy: label, proxy, the value and, under its name with _low and _high, its
    interval; and `paper`, which is drawn hollow beside pooled values. `rows` are the proxies and what they are called.
    """

    def paint(figure: Figure) -> None:
        axes = figure.add_axes((0.36, 40 / height, 0.60, (height - _FRAME) / height))
        axes.set_title(title, loc="left", fontsize=11, color=INK, pad=7, x=-0.6)
        axes.axvline(0, color=SOFT, linewidth=0.8)
        size, apart = thinness(looks.values()), min(_APART, _ROOM / len(looks))
        for i, (label, look) in enumerate(looks.items()):
            part = table.filter(label=label)
            place = {proxy: line + apart * (i - (len(looks) - 1) / 2) for line, proxy in enumerate(rows)}
            at = [place[proxy] for proxy in part["proxy"]]
            axes.hlines(at, part[f"{value}_low"], part[f"{value}_high"], color=look.colour, linewidth=1.6 * size)
            axes.plot(part[value], at, look.marker, color=look.colour, markersize=6 * size)
            if value == "pooled":
                axes.plot(part["paper"], at, look.marker, color=look.colour, markerfacecolor=PAPER, markersize=6 * size)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_yticks(range(len(rows)), list(rows.values()))
        axes.set_xlim(-1, 1)
        axes.set_xticks([-1, -0.5, 0, 0.5, 1])
        axes.xaxis.grid(True)
        axes.set_xlabel("Spearman correlation")

    height = _FRAME + _ROW * len(rows)
    return draw(name, f"Correlation with {', '.join(rows.values())}: {title}.", (_WIDTH, height), paint)
