"""The figures of a report, each from one table of values and in one style; the tables are what `--csv` writes."""

from collections.abc import Mapping

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from anira.site.drawing.style import FAINT, INK, PAPER, SEEN, SOFT, Style, knob_looks, thinness
from anira.site.drawing.svg import draw

_PANEL = (380, 270)
_DODGE = 0.05  # share of the distance between knobs by which variants stand apart, so that bars do not hide each other


def accuracy_figure(
    table: pl.DataFrame, looks: Mapping[str, Style], *, name: str, knob: str, limit: int | None = None
) -> str:
    """Draw accuracy by knob with its intervals, and what always giving the most common answer would reach.

    `table` has one row a line and knob: label, knob, split, accuracy, low, high, majority, and where copying the input
    is an answer, what that would reach: copy. `limit` is a knob beyond which training did not go.
    """

    def paint(figure: Figure) -> None:
        axes = _panel(figure, title="accuracy", below=knob)
        majority = table.group_by("knob").agg(pl.col("majority").max()).sort("knob")
        axes.plot(majority["knob"], majority["majority"], color=SOFT, linewidth=1.3, linestyle=(0, (1, 1.5)))
        if "copy" in table.columns:
            copied = table.group_by("knob").agg(pl.col("copy").max()).sort("knob")
            axes.plot(copied["knob"], copied["copy"], color=SOFT, linewidth=1.3, linestyle=(0, (6, 2)))
        _lines(axes, table, looks, "accuracy")
        axes.set_ylim(-0.02, 1.02)
        axes.set_yticks([0, 0.25, 0.5, 0.75, 1])
        _mark_seen(axes, table)
        _mark_limit(axes, limit)

    return draw(name, f"Accuracy by {knob}, one line for each of {', '.join(looks)}.", _PANEL, paint)


def depth_figure(
    table: pl.DataFrame, looks: Mapping[str, Style], *, name: str, knob: str, max_depth: int, limit: int | None = None
) -> str:
    """Draw the mean depth of answer tokens by knob with its intervals.

    `table` has one row a line and knob: label, knob, split, depth, low, high. `limit` is that of `accuracy_figure`.
    """

    def paint(figure: Figure) -> None:
        axes = _panel(figure, title="depth of answer tokens (iterations)", below=knob)
        axes.axhline(max_depth, color=SOFT, linewidth=1.3, linestyle=(0, (1, 1.5)))
        _lines(axes, table, looks, "depth")
        _depth_axis(axes, max_depth)
        _mark_seen(axes, table)
        _mark_limit(axes, limit)

    return draw(name, f"Mean depth of answer tokens by {knob}, one line for each of {', '.join(looks)}.", _PANEL, paint)


def forced_figure(table: pl.DataFrame, *, name: str, knob: str) -> str:
    """Draw accuracy by knob, one line for each depth that all tokens are forced to, and a thick one for own depths.

    `table` has one row a depth and knob of one run: depth (null: the policy's own), knob, accuracy, low, high.
    """

    def paint(figure: Figure) -> None:
        axes = _panel(figure, title="accuracy with all tokens at one depth", below=knob)
        own = table.filter(pl.col("depth").is_null()).sort("knob")
        axes.plot(own["knob"], own["accuracy"], color=INK, linewidth=2.6)
        for depth, look in knob_looks(table["depth"].drop_nulls().unique().sort().to_list()).items():
            part = table.filter(depth=depth).sort("knob")
            axes.vlines(part["knob"], part["low"], part["high"], color=look.colour, linewidth=1.0)
            axes.plot(
                part["knob"], part["accuracy"], color=look.colour, linewidth=1.4, marker=look.marker, markersize=4
            )
        axes.set_ylim(-0.02, 1.02)
        axes.set_yticks([0, 0.25, 0.5, 0.75, 1])

    return draw(name, f"Accuracy by {knob}, one line for each depth that all tokens are forced to.", _PANEL, paint)


def dynamics_figure(table: pl.DataFrame, gamma: pl.DataFrame, *, name: str, knob: str, max_depth: int) -> str:
    """Draw accuracy and answer depth by training step, one line per knob, above the schedule of gamma.

    `table` has one row per evaluation and knob: step, knob, accuracy, depth; `gamma` one row per step: step, gamma, and
    is empty for a policy without it.
    """
    heights = {"accuracy": 5.0, "depth": 5.0, **({"gamma": 1.4} if len(gamma) else {})}

    def paint(figure: Figure) -> None:
        axes = figure.subplots(len(heights), 1, sharex=True, height_ratios=list(heights.values()))
        panels: dict[str, Axes] = dict(zip(heights, axes, strict=True))
        figure.subplots_adjust(left=0.1, right=0.98, top=0.93, bottom=0.1, hspace=0.34)
        _title(panels["accuracy"], "accuracy")
        _knob_lines(panels["accuracy"], table, "accuracy")
        panels["accuracy"].set_ylim(-0.02, 1.02)
        _title(panels["depth"], "depth of answer tokens (iterations)")
        _knob_lines(panels["depth"], table, "depth")
        _depth_axis(panels["depth"], max_depth)
        if "gamma" in panels:
            _schedule(panels["gamma"], gamma)
        axes[-1].set_xlabel("step")

    return draw(
        name, f"Accuracy and depth of answer tokens by training step, one line for each {knob}.", (380, 440), paint
    )


def _schedule(axes: Axes, gamma: pl.DataFrame) -> None:
    _title(axes, "weight \u03b3 of the compute loss")
    axes.fill_between(gamma["step"], gamma["gamma"], color=SEEN, linewidth=0)
    axes.plot(gamma["step"], gamma["gamma"], color=SOFT, linewidth=1.2)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(1))


def _panel(figure: Figure, *, title: str, below: str) -> Axes:
    axes: Axes = figure.add_axes((0.1, 0.18, 0.89, 0.72))
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
    gap = min(table["knob"].unique().sort().diff().drop_nulls(), default=1)
    labels = table["label"].unique(maintain_order=True).to_list()
    size = thinness(looks[label] for label in labels)
    for i, label in enumerate(labels):
        part, look = table.filter(label=label).sort("knob"), looks[label]
        at = part["knob"] + gap * _DODGE * (i - (len(labels) - 1) / 2)
        axes.plot(at, part[value], color=look.colour, linestyle=look.line, linewidth=1.8 * size)
        axes.vlines(at, part["low"], part["high"], color=look.colour, linewidth=1.2 * size)
        for seen, face in ((True, look.colour), (False, PAPER)):
            kept = (part["split"] == "seen") == seen
            x, y = at.filter(kept), part[value].filter(kept)
            axes.plot(x, y, look.marker, color=look.colour, markerfacecolor=face, markersize=6 * size)


def _mark_seen(axes: Axes, table: pl.DataFrame) -> None:
    """Lay a bar on the axis from the smallest to the largest knob that training has seen."""
    seen = table.filter(split="seen")["knob"]
    if seen.is_empty():
        return
    low, high = sorted(seen)[0], sorted(seen)[-1]
    place = axes.get_xaxis_transform()
    axes.plot([low, high], [0.012, 0.012], color=SEEN, linewidth=5, solid_capstyle="round", transform=place, zorder=1)


def _mark_limit(axes: Axes, limit: int | None) -> None:
    """Draw a dashed line where training ends, behind everything else."""
    if limit is not None:
        axes.axvline(limit, color=SOFT, linewidth=1.2, linestyle=(0, (5, 4)), zorder=0.5)


def _depth_axis(axes: Axes, max_depth: int) -> None:
    axes.set_ylim(1 - 0.03 * max_depth, max_depth * 1.03)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    axes.yaxis.grid(True, color=FAINT)


def _knob_lines(axes: Axes, table: pl.DataFrame, value: str) -> None:
    for knob, look in knob_looks(table["knob"].unique().sort().to_list()).items():
        part = table.filter(knob=knob).sort("step")
        axes.plot(part["step"], part[value], color=look.colour, linewidth=1.4, marker=look.marker, markersize=4)
    axes.yaxis.grid(True)
