"""The records of one evaluation as two tables in memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import polars as pl

from anira.measure.records.folders import choose_evaluation, find_evaluations
from anira.measure.records.loading import find_subtasks, load_evaluation


@final
@dataclass(frozen=True)
class Records:
    """One evaluation: a row per instance, a row per input position, joined by `instance_id`."""

    path: Path
    asked: Mapping[str, Any]
    """What evaluation.json says: the step, how depth was chosen, how many instances."""
    instances: pl.DataFrame
    tokens: pl.DataFrame

    def __repr__(self) -> str:
        depth = self.tokens.filter(target_kind="answer").select(pl.col("exit_depth").mean()).item()
        right = self.instances.select(pl.col("correct").mean()).item()
        return (
            f"Records {self.path.name}: {len(self.instances):,} instances, {len(self.tokens):,} tokens; "
            f"accuracy {right:.3f}, answer depth {depth:.2f}"
        )


def read_records(run: Path, name: str | None = None) -> Records:
    """Return an evaluation of a run by its name, or the run's main one."""
    folder = choose_evaluation(run, name)
    parts = [load_evaluation(folder, subtask or None) for subtask in find_subtasks(folder)]
    # Subtasks have probes of their own.
    instances, tokens = (
        pl.concat([one.collect(getattr(one, table)) for one in parts], how="diagonal_relaxed")
        for table in ("instances", "tokens")
    )
    return Records(folder, parts[0].asked, instances, tokens)


def evaluation_names(run: Path) -> list[str]:
    """Return the names of a run's evaluations, the main one last."""
    return [folder.name for folder in find_evaluations(run)]
