"""All subtasks of one evaluation side by side. Nothing is pooled over them: their knobs do not compare."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from anira.config import to_dict
from anira.measure.accuracy import Accuracy, accuracy_by_knob, accuracy_overall
from anira.measure.allocation import Alignment, Depth, alignment, depth_by_knob
from anira.measure.position import PositionControl, position_control
from anira.measure.records.instances import instance_table
from anira.measure.records.loading import Evaluation, find_subtasks, load_evaluation
from anira.measure.statistics.bootstrap import DRAWS
from anira.measure.summary import Labels, labels_of

SPLITS = ("seen", "interpolation", "extrapolation")


@dataclass(frozen=True, kw_only=True)
class SubtaskFigures:
    """Accuracy and depth of one subtask. Rows by knob come in the order of the knobs."""

    subtask: str
    accuracy: tuple[Accuracy, ...]
    splits: tuple[Accuracy, ...]
    """Accuracy over the knobs that training rows have, those between, and those beyond, where there are any."""
    depth: tuple[Depth, ...]
    """By knob, the row over all of them last."""
    alignment: tuple[Alignment, ...]
    position: tuple[PositionControl, ...]
    """What the position of a token explains of its depth, for answer and prompt tokens."""

    def aligned(self, *, measure: str = "exit_depth", subset: str = "all") -> Alignment:
        """Return how one measure of depth moves with the knob in one subset of the instances."""
        return next(row for row in self.alignment if (row.measure, row.subset) == (measure, subset))

    def over(self, split: str) -> Accuracy | None:
        """Return accuracy over the knobs of a split, if there are any."""
        return next((row for row in self.splits if row.split == split), None)


@dataclass(frozen=True, kw_only=True)
class Overview:
    """One evaluation of a task that is several in one."""

    labels: Labels
    """Those of the first subtask, without its name."""
    warnings: tuple[str, ...]
    subtasks: tuple[SubtaskFigures, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; what is undefined is null, with its reason beside it."""
        return to_dict(self)


def overview(folder: Path, *, seed: int = 0, draws: int = DRAWS) -> Overview:
    """Compute accuracy, depth and their alignment with the knob for each subtask on its own.

    The figures of a subtask are those that `summarize` gives of it.
    """
    found, labels, warnings = [], None, []
    for name in find_subtasks(folder):
        evaluation = load_evaluation(folder, name)
        table = instance_table(evaluation)
        labels = labels or replace(labels_of(evaluation, table), subtask="")
        warnings += [f"{name}: {line}" if name else line for line in evaluation.warnings]
        found.append(_figures(evaluation, table, seed, draws))
    assert labels is not None
    return Overview(labels=labels, warnings=tuple(warnings), subtasks=tuple(found))


def _figures(evaluation: Evaluation, table: pl.DataFrame, seed: int, draws: int) -> SubtaskFigures:
    depth_rng, knob_rng, *_ = np.random.default_rng(seed).spawn(4)  # the streams that `summarize` has for the same
    by_split = {split: table.filter(pl.col("split") == split) for split in SPLITS}
    return SubtaskFigures(
        subtask=evaluation.subtask,
        accuracy=tuple(accuracy_by_knob(table)),
        splits=tuple(replace(accuracy_overall(rows), split=split) for split, rows in by_split.items() if len(rows)),
        depth=tuple(depth_by_knob(table, rng=depth_rng, draws=draws)),
        alignment=tuple(alignment(table, rng=knob_rng, draws=draws)),
        position=tuple(position_control(evaluation)),
    )
