"""A cost as a share of that at full depth, against mean depth, beside the shares that are expected of the core."""

from collections.abc import Mapping

import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from anira.measure.savings import share_with_exit
from anira.site.drawing.style import INK, PAPER, SOFT, Style
from anira.site.drawing.svg import draw


def ratio_figure(table: pl.DataFrame, looks: Mapping[str, Style], *, value: str, name: str, title: str) -> str:
    """Draw one share against mean depth: runs at their own depths, and the same weights at one depth for all tokens.

    `table` has one row a run and way: label, max_depth, way (own or forced), depth, the value and, where it has an
    interval, its ends under the name with _low and _high.
    """
    full = int(table["max_depth"].max())  # type: ignore[arg-type]
    ends = [name for name in (value, f"{value}_high") if name in table.columns]
    highest = float(table.select(pl.max_horizontal(pl.col(ends).max())).item())

    def paint(figure: Figure) -> None:
        axes = figure.add_axes((0.12, 0.18, 0.86, 0.72))
        axes.set_title(f"{title} (1 = full depth)", loc="left", fontsize=11, color=INK, pad=7, x=-0.1)
        axes.set_xlabel("mean depth d (iterations executed a token)")
        axes.yaxis.grid(True)
        depths = (0, full - 1, full)
        shares = [share_with_exit(depth, full) for depth in depths]
        axes.plot((0, full), (0, 1), color=SOFT, linewidth=1.3, linestyle=(0, (1, 1.5)))
        axes.plot(depths, shares, color=SOFT, linewidth=1.3, linestyle=(0, (6, 2)))
        for (label,), part in table.group_by("label", maintain_order=True):
            look = looks[str(label)]
            forced, own = part.filter(way="forced").sort("depth"), part.filter(way="own")
            axes.plot(forced["depth"], forced[value], color=look.colour, linestyle=look.line, linewidth=1.0)
            axes.plot(
                forced["depth"], forced[value], look.marker, color=look.colour, markerfacecolor=PAPER, markersize=4
            )
            if f"{value}_low" in own.columns:
                axes.vlines(own["depth"], own[f"{value}_low"], own[f"{value}_high"], color=look.colour, linewidth=1.2)
            axes.plot(own["depth"], own[value], look.marker, color=look.colour, markersize=8, zorder=3)
        axes.set_xlim(0, full * 1.03)
        axes.set_ylim(0, 1.08 * max(1.0, highest))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))

    description = f"{title} as a share of that at full depth, against mean depth, for each of {', '.join(looks)}."
    return draw(name, description, (380, 290), paint)
