"""One task's runs by knob, as a section of a page: what depth does, what accuracy does, and whether depth is needed."""

from dataclasses import dataclass
from typing import Final

import polars as pl

from anira.measure.tidy import find
from anira.site.charts import MARKS, Legend, forced_chart, knob_chart
from anira.site.page import Cell, ChartPart, Section, TablePart
from anira.site.tables import MEANS, Column, capital, estimate_table
from anira.site.verdicts import shown

DEPTH: Final = Column("depth", "mean answer depth", "answer")
ACCURACY: Final = Column("accuracy", "accuracy")
_ALIGNMENT: Final = (
    Column("need", "need"),
    Column("slope", "slope"),
    Column("slope", "slope of right answers", "right"),
    Column("expected_slope", "slope of expected depth"),
    Column("spearman_knob", "Spearman"),
    Column("spearman_oracle", "Spearman, oracle depth"),
    Column("regret", "regret", "answer"),
    Column("slope", "slope, shuffled", null=True),
)
_POSITION: Final = (
    Column("r2_position", "position", "answer"),
    Column("r2_knob", "knob", "answer"),
    Column("r2_both", "both", "answer"),
)
_NUMBERS: Final = (
    ACCURACY,
    Column("held_out_accuracy", "kept from training"),
    Column("majority", "commonest answer"),
    Column("depth", "answer depth", "answer"),
    Column("depth", "of right answers", "right"),
    Column("expected_depth", "expected depth", "answer"),
    Column("depth", "prompt depth", "prompt"),
    Column("oracle_depth", "oracle depth"),
)
_BEYOND: Final = "Right of the dashed line: larger than in training."


@dataclass(frozen=True, kw_only=True)
class KnobTask:
    """The rows of one task, and the words for it."""

    name: str
    """A word for ids."""
    title: str
    knob: str
    """The words under the axis."""
    runs: pl.DataFrame
    seeds: pl.DataFrame
    legend: Legend
    edge: float | None = None
    """Where training ends, if anything beyond it was evaluated."""

    @property
    def variants(self) -> list[str]:
        """Those that are shown and have rows."""
        found = set(self.seeds["variant"])
        return [name for name in self.legend.names if name in found]


def knob_charts(task: KnobTask) -> list[ChartPart]:
    """Return depth, accuracy and the forced-depth curve."""
    parts = [knob_chart_part(task, DEPTH), knob_chart_part(task, ACCURACY)]
    if "forced_accuracy" in task.seeds["quantity"]:
        chart = forced_chart(task.seeds, legend=task.legend)
        caption = "Where the curve is flat, depth is not needed, and a rising depth shows nothing."
        parts.append(ChartPart(name=f"{task.name}-forced", title="Forced depth", chart=chart, caption=caption))
    return parts


def knob_section(task: KnobTask) -> Section:
    """Return charts and tables of one task."""
    parts: list[ChartPart | TablePart] = [
        *knob_charts(task),
        alignment_table(task),
        _position_table(task),
        numbers_table(task),
    ]
    return Section(title=task.title, parts=parts)


def alignment_table(task: KnobTask) -> TablePart:
    """Return need, slopes and correlations over seeds, with the range of the slope for shuffled depth."""
    return estimate_table(
        task.seeds,
        shown(task.seeds, task.legend.names),
        _ALIGNMENT,
        title=f"{task.title}: does depth follow the knob?",
        caption=f"{MEANS} At knobs of training.",
        heads=["seeds"],
        more=lambda labels: [find(task.seeds, "accuracy", **labels)["n"]],
    )


def _position_table(task: KnobTask) -> TablePart:
    return estimate_table(
        task.seeds,
        shown(task.seeds, task.legend.names),
        _POSITION,
        title=f"{task.title}: does depth only count positions?",
        caption="Share of the variance of answer depth that means by position, by knob, and by both explain.",
    )


def numbers_table(task: KnobTask) -> TablePart:
    """Return everything by model and knob."""
    places = task.seeds.filter(quantity="accuracy").select("variant", "knob", "split").drop_nulls().unique()
    subjects = {
        (name, Cell(str(knob), split)): {**labels, "knob": knob}
        for name, labels in shown(task.seeds, task.legend.names).items()
        for _, knob, split in places.filter(**labels).sort("knob").iter_rows()
    }
    title = f"{task.title} in numbers"
    return estimate_table(task.seeds, subjects, _NUMBERS, title=title, first=("model", "knob"))


def knob_chart_part(task: KnobTask, column: Column) -> ChartPart:
    """Return one quantity by knob."""
    chart = knob_chart(task.seeds, task.runs, column, legend=task.legend, knob=task.knob, edge=task.edge)
    caption = MARKS if task.edge is None else f"{MARKS} {_BEYOND}"
    return ChartPart(name=f"{task.name}-{column.quantity}", title=capital(column.title), chart=chart, caption=caption)
