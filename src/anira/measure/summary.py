"""Everything that is computed from one evaluation, as one object that JSON, tables, sentences and reports read."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from anira.config import to_dict
from anira.measure.accuracy import Accuracy, accuracy_by_knob, accuracy_overall
from anira.measure.allocation import Alignment, Depth, alignment, depth_by_knob
from anira.measure.cost import Cost, cost_by_knob
from anira.measure.position import PositionControl, position_control
from anira.measure.probes import ProbeCorrelation, probe_correlations
from anira.measure.records.instances import LABELS, instance_table
from anira.measure.records.loading import Evaluation, load_evaluation
from anira.measure.records.stored import run_config
from anira.measure.statistics.bootstrap import DRAWS, SMALLEST_STRATUM
from anira.measure.statistics.nulls import nulls_cover_zero


@dataclass(frozen=True, kw_only=True)
class Labels:
    """Whose records these are, and how depth was chosen when they were made."""

    evaluation: str
    """Path of the evaluation folder."""
    run_id: str
    task: str
    subtask: str
    """Empty for a task that is only one."""
    variant: str
    seed: int
    step: int
    select: str
    threshold: float | None
    decode: str
    override: str
    max_depth: int
    config: dict[str, Any]
    """The run's resolved configuration; empty where the folder does not lie in a run."""


@dataclass(frozen=True, kw_only=True)
class Summary:
    """All figures of one evaluation. Rows by knob come in the order of the knobs, the row over all of them last."""

    labels: Labels
    warnings: tuple[str, ...]
    instances: int
    accuracy: tuple[Accuracy, ...]
    seen: Accuracy
    """Accuracy over the knobs that training rows have, or over all if the evaluation has none of those."""
    depth: tuple[Depth, ...]
    alignment: tuple[Alignment, ...]
    nulls_cover_zero: bool
    position: tuple[PositionControl, ...]
    probes: tuple[ProbeCorrelation, ...]
    cost: tuple[Cost, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; what is undefined is null, with its reason beside it."""
        return to_dict(self)

    def aligned(self, *, measure: str = "exit_depth", subset: str = "all") -> Alignment:
        """Return how one measure of depth moves with the knob in one subset of the instances."""
        return next(row for row in self.alignment if (row.measure, row.subset) == (measure, subset))


def summarize(evaluation: Evaluation | Path, *, seed: int = 0, draws: int = DRAWS) -> Summary:
    """Compute all figures of an evaluation; `seed` is that of the resampling, and equal seeds give equal figures."""
    evaluation = load_evaluation(evaluation) if isinstance(evaluation, Path) else evaluation
    table = instance_table(evaluation)
    # A stream for each part: a figure does not depend on which others are made.
    depth_rng, knob_rng, probe_rng, cost_rng = np.random.default_rng(seed).spawn(4)
    aligned = alignment(table, rng=knob_rng, draws=draws)
    probes = probe_correlations(evaluation, table, rng=probe_rng, draws=draws)
    nulls = [null for row in aligned for null in (row.null_slope, row.null_spearman)]
    return Summary(
        labels=labels_of(evaluation, table),
        warnings=(*evaluation.warnings, *_few(evaluation, table)),
        instances=len(table),
        accuracy=(*accuracy_by_knob(table), accuracy_overall(table)),
        seen=accuracy_overall(table, seen_only="seen" in table["split"]),
        depth=tuple(depth_by_knob(table, rng=depth_rng, draws=draws)),
        alignment=tuple(aligned),
        nulls_cover_zero=nulls_cover_zero([*nulls, *(row.null_within for row in probes)]),
        position=tuple(position_control(evaluation)),
        probes=tuple(probes),
        cost=tuple(cost_by_knob(table, rng=cost_rng, draws=draws)),
    )


def labels_of(evaluation: Evaluation, table: pl.DataFrame) -> Labels:
    """Return whose records an evaluation's instances are."""
    first = table.row(0, named=True)
    return Labels(
        evaluation=str(evaluation.folder),
        max_depth=first["full_iterations"] // first["num_tokens"],
        config=run_config(evaluation.folder),
        **{name: first[name] for name in LABELS},
    )


def _few(evaluation: Evaluation, table: pl.DataFrame) -> list[str]:
    """Say where there are fewer instances than were asked for, or than a bootstrap within a knob needs."""
    counts = {knob: len(rows) for (knob,), rows in table.partition_by("knob", as_dict=True).items()}
    asked = evaluation.asked.get("n", 0)
    lines = [f"knob {knob} has {count} of {asked} instances" for knob, count in counts.items() if count < asked]
    if min(counts.values()) < SMALLEST_STRATUM:
        lines.append(f"a knob has fewer than {SMALLEST_STRATUM} instances: intervals are rough")
    return lines
