"""The figures of a report, each from one table of values and in one style; the tables are what `--csv` writes."""

from collections.abc import Mapping
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from anira.report.style import FAINT, INK, SEEN, SOFT, Style, knob_looks
from anira.report.svg import draw

_PANEL = (420, 290)
_DODGE = 0.05  # share of the distance between knobs by which variants stand apart, so that bars do not hide each other


def accuracy_figure(table: pl.DataFrame, looks: Mapping[str, Style], *, name: str, knob: str) -> str:
    """Draw accuracy by knob with its intervals, and what always giving the most common answer would reach.

    `table` has one row a line and knob: label, knob, split, accuracy, low, high, majority.
    """

    def paint(figure: Figure) -> None:
        axes = _panel(figure, title="accuracy", below=knob)
        majority = table.group_by("knob").agg(pl.col("majority").max()).sort("knob")
        axes.plot(majority["knob"], majority["majority"], color=SOFT, linewidth=1, linestyle=(0, (1, 2)))
        last = majority.row(-1, named=True)
        axes.annotate("majority answer", (last["knob"], last["majority"]), (0, 5), **_SMALL, ha="right")
        _lines(axes, table, looks, "accuracy")
        axes.set_ylim(-0.02, 1.02)
        axes.set_yticks([0, 0.25, 0.5, 0.75, 1])
        _mark_seen(axes, table)

    return draw(name, f"Accuracy by {knob}, one line for each of {', '.join(looks)}.", _PANEL, paint)


def depth_figure(table: pl.DataFrame, looks: Mapping[str, Style], *, name: str, knob: str, max_depth: int) -> str:
    """Draw the mean depth of answer tokens by knob with its intervals.

    `table` has one row a line and knob: label, knob, split, depth, low, high.
    """

    def paint(figure: Figure) -> None:
        axes = _panel(figure, title="depth of answer tokens (iterations)", below=knob)
        axes.axhline(max_depth, color=SOFT, linewidth=1, linestyle=(0, (1, 2)))
        axes.annotate(
            f"full depth D = {max_depth}",
            (1, max_depth),
            (0, -11),
            xycoords=("axes fraction", "data"),
            **_SMALL,
            ha="right",
        )
        _lines(axes, table, looks, "depth")
        _depth_axis(axes, max_depth)
        _mark_seen(axes, table)

    return draw(name, f"Mean depth of answer tokens by {knob}, one line for each of {', '.join(looks)}.", _PANEL, paint)


def dynamics_figure(table: pl.DataFrame, gamma: pl.DataFrame, *, name: str, knob: str, max_depth: int) -> str:
    """Draw accuracy and answer depth by training step, one line a knob, above the schedule of gamma.

    `table` has one row an evaluation and knob: step, knob, accuracy, depth; `gamma` one row a step: step, gamma, and
    may be empty for a policy without it.
    """

    def paint(figure: Figure) -> None:
        above, middle, below = figure.subplots(3, 1, sharex=True, height_ratios=(5, 5, 1.4))
        figure.subplots_adjust(left=0.1, right=0.98, top=0.93, bottom=0.09, hspace=0.32)
        _knob_lines(above, table, "accuracy")
        above.set_ylim(-0.02, 1.02)
        _knob_lines(middle, table, "depth")
        _depth_axis(middle, max_depth)
        below.fill_between(gamma["step"], gamma["gamma"], color=SEEN, linewidth=0)
        below.plot(gamma["step"], gamma["gamma"], color=SOFT, linewidth=1.2)
        below.set_ylim(bottom=0)
        below.yaxis.set_major_locator(MaxNLocator(1))
        below.set_xlabel("step")
        for axes, title in (
            (above, "accuracy"),
            (middle, "depth of answer tokens"),
            (below, "weight of the compute loss"),
        ):
            _title(axes, title)

    return draw(
        name, f"Accuracy and depth of answer tokens by training step, one line for each {knob}.", (420, 470), paint
    )


_SMALL: dict[str, Any] = {"textcoords": "offset points", "fontsize": 9.5, "color": SOFT}


def _panel(figure: Figure, *, title: str, below: str) -> Axes:
    axes: Axes = figure.add_axes((0.1, 0.17, 0.88, 0.74))
    _title(axes, title)
    axes.set_xlabel(below)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=10))
    axes.yaxis.grid(True)
    return axes


def _title(axes: Axes, title: str) -> None:
    """Say what the vertical axis shows where reading starts, and lying flat."""
    axes.set_title(title, loc="left", fontsize=11, color=INK, pad=7)


def _lines(axes: Axes, table: pl.DataFrame, looks: Mapping[str, Style], value: str) -> None:
    """Draw a line for each label, its intervals as bars, and hollow markers at knobs that training has not seen."""
    knobs = table["knob"].unique().sort()
    gap = float(knobs.diff().drop_nulls().min() or 1)  # type: ignore[arg-type]
    labels = table["label"].unique(maintain_order=True)
    for i, label in enumerate(labels):
        part, look = table.filter(label=label).sort("knob"), looks[label]
        at = part["knob"] + gap * _DODGE * (i - (len(labels) - 1) / 2)
        axes.plot(at, part[value], color=look.colour, linestyle=look.line)
        axes.vlines(at, part["low"], part["high"], color=look.colour, linewidth=1.2)
        for seen, face in ((True, look.colour), (False, "none")):
            chosen = (part["split"] == "seen") == seen
            axes.plot(
                at.filter(chosen), part[value].filter(chosen), look.marker, color=look.colour, markerfacecolor=face
            )


def _mark_seen(axes: Axes, table: pl.DataFrame) -> None:
    """Lay a bar on the axis from the smallest to the largest knob that training has seen."""
    seen = table.filter(split="seen")["knob"]
    if seen.is_empty():
        return
    low, high = sorted(seen)[0], sorted(seen)[-1]
    place = axes.get_xaxis_transform()
    axes.plot([low, high], [0.012, 0.012], color=SEEN, linewidth=5, solid_capstyle="round", transform=place, zorder=1)
    axes.text(low, 0.03, "seen in training", fontsize=9.5, color=SOFT, transform=place)


def _depth_axis(axes: Axes, max_depth: int) -> None:
    axes.set_ylim(1 - 0.03 * max_depth, max_depth * 1.03)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    axes.yaxis.grid(True, color=FAINT)


def _knob_lines(axes: Axes, table: pl.DataFrame, value: str) -> None:
    for knob, look in knob_looks(table["knob"].unique().sort().to_list()).items():
        part = table.filter(knob=knob).sort("step")
        axes.plot(part["step"], part[value], color=look.colour, linewidth=1.4, marker=look.marker, markersize=4)
    axes.yaxis.grid(True)
