"""The table of figures: what was measured in rows, runs in columns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from anira.measure.position import PositionControl
from anira.measure.statistics.estimates import Estimate
from anira.measure.statistics.nulls import Null
from anira.measure.summary import Summary
from anira.site.report.runs import Run


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A value with its interval, or what stands in their place."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    note: str = ""
    percent: bool = False
    digits: int = 2

    @property
    def text(self) -> str:
        """The value as the page shows it.

        >>> Cell(value=0.412, low=0.4, high=0.42, percent=True).text, Cell(note="depth is constant").text
        ('41% [40, 42]', 'depth is constant')
        """
        if self.value is None:
            return self.note or "-"
        if self.low is None or self.high is None:
            return " ".join([self._number(self.value), self.note]).strip()
        ends = [self._number(end).removesuffix("%") for end in (self.low, self.high)]
        return f"{self._number(self.value)} [{ends[0]}, {ends[1]}]"

    def _number(self, value: float) -> str:
        text = f"{100 * value:.0f}%" if self.percent else f"{value:.{self.digits}f}"
        return text.removeprefix("-") if not text.strip("-0.%") else text  # no minus sign before zero


@dataclass(frozen=True, kw_only=True)
class Row:
    """One figure of every run."""

    name: str
    cells: tuple[Cell, ...]


def summary_rows(runs: Sequence[Run], *, knob: str) -> list[Row]:
    """Return the figures over all knobs of the runs of one task."""
    figures = dict(_FIGURES)
    if all(run.summary.accuracy[-1].lenient == run.summary.accuracy[-1].exact for run in runs):
        del figures[_LENIENT]  # the task has one rule only, or it makes no difference
    return [
        Row(name=name.format(knob=knob), cells=tuple(cell(run.summary) for run in runs))
        for name, cell in figures.items()
    ]


def probe_rows(runs: Sequence[Run]) -> list[Row]:
    """Return the rank correlation of exit depth with each probe within instances."""
    found = [{row.probe: row.within for row in run.summary.probes if row.measure == "exit_depth"} for run in runs]
    names = dict.fromkeys(name for correlations in found for name in correlations)
    none = Estimate(None)
    return [Row(name=_words(name), cells=tuple(_estimate(one.get(name, none)) for one in found)) for name in names]


def _words(name: str) -> str:
    return name.replace("_", " ")


def rows_table(rows: Sequence[Row], runs: Sequence[Run]) -> pl.DataFrame:
    """Return rows as a table for `--csv`: one line a figure and run."""
    return pl.DataFrame(
        [
            {
                "task": run.task,
                "label": run.label,
                "figure": row.name,
                "value": cell.value,
                "low": cell.low,
                "high": cell.high,
                "note": cell.note,
            }
            for row in rows
            for run, cell in zip(runs, row.cells, strict=True)
        ],
        infer_schema_length=None,
    )


def _estimate(estimate: Estimate, *, percent: bool = False, digits: int = 2) -> Cell:
    return Cell(
        value=estimate.value, low=estimate.low, high=estimate.high, note=estimate.reason, percent=percent, digits=digits
    )


def _null(null: Null | None, digits: int = 2) -> Cell:
    if null is None:
        return Cell(note="-")
    return Cell(value=null.mean, low=null.low, high=null.high, digits=digits)


def _position(summary: Summary) -> PositionControl | None:
    return next((control for control in summary.position if control.kind == "answer"), None)


def _explained(share: str) -> Callable[[Summary], Cell]:
    def cell(summary: Summary) -> Cell:
        control = _position(summary)
        value = None if control is None else getattr(control, share)
        return Cell(value=value, percent=True, note="" if value is not None else "depth is constant")

    return cell


def _separable(summary: Summary) -> Cell:
    control = _position(summary)
    if control is None:
        return Cell(note="-")
    return Cell(note="yes" if control.separable else "no: position determines it")


_LENIENT = "accuracy, lenient rule"
_FIGURES: dict[str, Callable[[Summary], Cell]] = {
    "instances": lambda one: Cell(value=one.instances, digits=0),
    "accuracy": lambda one: _estimate(one.accuracy[-1].exact),
    _LENIENT: lambda one: _estimate(one.accuracy[-1].lenient),
    "majority answer": lambda one: Cell(value=one.accuracy[-1].majority),
    "mean depth of answer tokens": lambda one: _estimate(one.depth[-1].answer),
    "mean depth of prompt tokens": lambda one: _estimate(one.depth[-1].prompt),
    "slope: iterations per unit of {knob}": lambda one: _estimate(one.aligned().slope, digits=3),
    "its null, depth shuffled": lambda one: _null(one.aligned().null_slope, digits=3),
    "slope among right answers": lambda one: _estimate(one.aligned(subset="correct").slope, digits=3),
    "Spearman of depth and {knob}": lambda one: _estimate(one.aligned().spearman),
    "its null": lambda one: _null(one.aligned().null_spearman),
    "variance of answer depth explained by position": _explained("by_position"),
    "explained by {knob}": _explained("by_knob"),
    "position and {knob} separable": _separable,
    "iterations executed, of full depth": lambda one: _estimate(one.cost[-1].iterations_share, percent=True),
    "FLOPs, of full depth": lambda one: _estimate(one.cost[-1].flops_share, percent=True),
    "KV slots, of full depth": lambda one: _estimate(one.cost[-1].kv_share, percent=True),
    "decisions per token": lambda one: _estimate(one.cost[-1].decisions_per_token),
}
