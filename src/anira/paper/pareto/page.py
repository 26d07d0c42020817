"""The page of the Pareto frontier: accuracy against depth under every way to choose depth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from anira.measure.pareto import Frontier, Point
from anira.site.drawing.style import INK, PAPER, Style, styles, thinness
from anira.site.drawing.svg import draw
from anira.site.plain import short
from anira.site.sheet.cells import Who, estimate_columns, labels_by_task
from anira.site.sheet.sheet import Section, Sheet, Table

PANELS: Final = (("answer_depth", "beaten_on_answers", "answer tokens"), ("depth", "beaten_on_all", "all tokens"))
"""Depth, what says whether a point is dominated there, and whose depth it is."""
RULE_MARKERS: Final = {"mode": "*", "mean": "X"}
"""Rules that lie on no sweep of the threshold."""
BELOW: Final = (
    "A line joins the thresholds of a run, the median being that of 0.5; star: mode; cross: mean. Filled: on the "
    "frontier of its run; hollow: dominated. Bars are 95% intervals. The axis of accuracy does not start at 0."
)


@dataclass(frozen=True, kw_only=True)
class ParetoRun:
    """A run, and what its records say."""

    origin: str
    """Where it comes from, and in what it differs from its preset."""
    figures: Frontier


def pareto_sheet(runs: Sequence[ParetoRun]) -> Sheet:
    """Return the page about some runs, with a section for each task."""
    table = point_table(runs)
    tasks = table["task"].unique(maintain_order=True).to_list()
    return Sheet(
        name="pareto",
        title="Accuracy against depth: what other thresholds would give",
        runs=[_about(label, run) for label, run in _named(runs)],
        sections=[_section(task, runs, table.filter(task=task)) for task in tasks],
    )


def _named(runs: Sequence[ParetoRun]) -> list[tuple[str, ParetoRun]]:
    found = [run.figures.labels for run in runs]
    labels = labels_by_task([(one.task, Who(one.variant, one.seed, one.run_id)) for one in found])
    return list(zip(labels, runs, strict=True))


def point_table(runs: Sequence[ParetoRun]) -> pl.DataFrame:
    """Return one row a run and way to choose depth: what pareto.csv holds and the figures draw."""
    rows = [_row(label, run, point) for label, run in _named(runs) for point in run.figures.points]
    return pl.DataFrame(rows, schema_overrides={"threshold": pl.Float64}, infer_schema_length=None)


def _row(label: str, run: ParetoRun, point: Point) -> dict[str, Any]:
    who = run.figures.labels
    return {
        "label": label,
        "run_id": who.run_id,
        "task": who.task,
        "variant": who.variant,
        "seed": who.seed,
        "select": point.select,
        "threshold": point.threshold,
        "instances": run.figures.instances,
        **estimate_columns("accuracy", point.accuracy),
        **estimate_columns("answer_depth", point.answer_depth),
        **estimate_columns("read_depth", point.read_depth),
        **estimate_columns("depth", point.depth),
        "virtual": point.virtual,
        "beaten_on_answers": point.beaten_on_answers,
        "beaten_on_all": point.beaten_on_all,
    }


def _about(label: str, run: ParetoRun) -> dict[str, str]:
    figures, who = run.figures, run.figures.labels
    return {
        "label": label,
        "instances": f"{figures.instances:,}",
        "knobs": ", ".join(map(str, figures.knobs)),
        "largest depth D": str(who.max_depth),
        "majority baseline": f"{figures.majority:.3f}",
        "tests that are corrected together": str(figures.tests),
        "step": f"{who.step:,}",
        "run": f"{who.run_id} ({run.origin})",
        "warnings": "; ".join(figures.warnings) or "none",
    }


def _section(task: str, runs: Sequence[ParetoRun], table: pl.DataFrame) -> Section:
    looks = styles(dict(table.select("label", "variant").unique(maintain_order=True).iter_rows()))
    points = [
        _cells(label, point)
        for label, run in _named(runs)
        if run.figures.labels.task == task
        for point in run.figures.points
    ]
    return Section(
        title=task.upper(),
        looks=looks,
        panels=[
            tradeoff_figure(table, looks, depth=depth, beaten=beaten, name=f"{task}-{depth}", tokens=tokens)
            for depth, beaten, tokens in PANELS
        ],
        tables=[Table(f"{task}: every way to choose depth", points)],
        below=BELOW,
    )


def _cells(label: str, point: Point) -> dict[str, str]:
    return {
        "run": label,
        "depth chosen by": f"{point.name}, virtual" if point.virtual else point.name,
        "accuracy": short(point.accuracy, 3),
        "depth, answers": short(point.answer_depth),
        "read out at": short(point.read_depth) if point.virtual else "-",
        "depth, all": short(point.depth),
        "dominated, answers": _by(point.beaten_on_answers),
        "dominated, all": _by(point.beaten_on_all),
    }


def _by(name: str) -> str:
    return f"by {name}" if name else "no"


def tradeoff_figure(
    table: pl.DataFrame, looks: Mapping[str, Style], *, depth: str, beaten: str, name: str, tokens: str
) -> str:
    """Draw accuracy against one measure of depth, a line for the thresholds of each run.

    `table` has one row a run and rule: label, select, threshold, accuracy and the depth with the ends of their
    intervals, and in the column `beaten` what dominates the point.
    """

    def paint(figure: Figure) -> None:
        axes = figure.add_axes((0.12, 0.18, 0.86, 0.72))
        axes.set_title("accuracy", loc="left", fontsize=11, color=INK, pad=7)
        axes.set_xlabel(f"iterations executed, mean over {tokens}")
        axes.yaxis.grid(True)
        axes.yaxis.set_major_locator(MaxNLocator(5))
        size = thinness(looks.values())
        for (label,), part in table.group_by("label", maintain_order=True):
            _draw_run(axes, part, looks[str(label)], depth, beaten, size)

    description = (
        f"Accuracy against the mean depth of {tokens}, for each of {', '.join(looks)} and each way to choose depth."
    )
    return draw(name, description, (380, 290), paint)


def _draw_run(axes: Axes, part: pl.DataFrame, look: Style, depth: str, beaten: str, size: float) -> None:
    level = pl.when(pl.col("select") == "median").then(0.5).otherwise(pl.col("threshold")).alias("level")
    sweep = part.with_columns(level).drop_nulls("level").sort("level")
    axes.plot(sweep[depth], sweep["accuracy"], color=look.colour, linestyle=look.line, linewidth=1.6 * size)
    axes.vlines(part[depth], part["accuracy_low"], part["accuracy_high"], color=look.colour, linewidth=size)
    axes.hlines(part["accuracy"], part[f"{depth}_low"], part[f"{depth}_high"], color=look.colour, linewidth=size)
    for row in part.iter_rows(named=True):
        marker = RULE_MARKERS.get(row["select"], look.marker)
        width = (11 if marker == "*" else 8 if marker == "X" else 6) * size
        face = PAPER if row[beaten] else look.colour
        axes.plot(
            row[depth], row["accuracy"], marker, color=look.colour, markerfacecolor=face, markersize=width, zorder=3
        )
