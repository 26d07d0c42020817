"""Means beside each other with two bars each: how sure the mean is, and how far the tokens behind it spread."""

from collections.abc import Mapping

import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from anira.site.drawing.style import FAINT, INK, Style, thinness
from anira.site.drawing.svg import draw

_SIZE = (380, 270)
_WIDTH = 0.6  # share of the distance between places over which runs stand


def spread_figure(
    table: pl.DataFrame,
    places: Mapping[int, str],
    looks: Mapping[str, Style],
    *,
    name: str,
    title: str,
    below: str,
    depths: tuple[float, float],
) -> str:
    """Draw mean depths, the runs at each place beside each other.

    `table` has one row a label and place: label, place, mean, mean_low, mean_high and deviation. Thick bars are the
    intervals of the means, thin ones reach a standard deviation to both sides. `places` are what stands on the axis,
    from left to right, `depths` the ends of the vertical axis.
    """

    def paint(figure: Figure) -> None:
        axes = figure.add_axes((0.1, 0.18, 0.89, 0.72))
        axes.set_title(title, loc="left", fontsize=11, color=INK, pad=7)
        order = {place: i for i, place in enumerate(places)}
        gap, size = _WIDTH / len(looks), thinness(looks.values())
        for i, (label, look) in enumerate(looks.items()):
            part = table.filter(label=label).drop_nulls("mean")
            at = [order[place] + gap * (i - (len(looks) - 1) / 2) for place in part["place"]]
            around = part["deviation"].fill_null(0)
            axes.vlines(at, part["mean"] - around, part["mean"] + around, color=look.colour, linewidth=0.8)
            sure = part.select(pl.col("mean_low", "mean_high").fill_null(pl.col("mean")))
            axes.vlines(at, sure["mean_low"], sure["mean_high"], color=look.colour, linewidth=3.2 * size)
            axes.plot(at, part["mean"], look.marker, color=look.colour, markersize=5.5 * size)
        axes.set_xlim(-0.5, len(places) - 0.5)
        axes.set_xticks(range(len(places)), list(places.values()))
        axes.set_xlabel(below)
        axes.set_ylim(*depths)
        axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
        axes.yaxis.grid(True, color=FAINT)

    return draw(name, f"Mean {title}, by {below}, one marker for each of {', '.join(looks)}.", _SIZE, paint)


def depth_range(table: pl.DataFrame) -> tuple[float, float]:
    """Return the ends of an axis that holds all bars of a table, and a little more."""
    around = pl.col("deviation").fill_null(0)
    low, high = table.select(
        (pl.col("mean") - around).min(), pl.max_horizontal("mean_high", pl.col("mean") + around).max().alias("high")
    ).row(0)
    low = min(low, 1.0)  # no token has less
    margin = 0.04 * max(high - low, 1.0)
    return low - margin, high + margin
