"""Whose records an evaluation holds, and how depth was chosen when they were made."""

from dataclasses import dataclass
from typing import Any

import polars as pl

from anira.measure.records.instances import LABELS
from anira.measure.records.loading import Evaluation
from anira.measure.records.stored import run_config


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


def labels_of(evaluation: Evaluation, table: pl.DataFrame) -> Labels:
    """Return whose records an evaluation's instances are."""
    first = table.row(0, named=True)
    return Labels(
        evaluation=str(evaluation.folder),
        max_depth=first["full_iterations"] // first["num_tokens"],
        config=run_config(evaluation.folder),
        **{name: first[name] for name in LABELS},
    )
