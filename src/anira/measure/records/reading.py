"""From folders to records in memory: the evaluations of each run, by what they did to the depths.

A run's own evaluations let the policy choose. Beside them there may be evaluations with every token forced to one
depth, and with virtual exits. All are matched by step, and joined by instance: row i of a knob is always the same
instance, whatever the number of instances.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import polars as pl

from anira.config import UserError
from anira.measure.records.folders import choose_evaluation, find_evaluations
from anira.measure.records.instances import instance_table
from anira.measure.records.loading import Evaluation, find_subtasks, load_evaluation
from anira.measure.records.stored import read_asked, run_config
from anira.measure.tidy import Labels, labels_of
from anira.records import ASKED
from anira.records.overrides import forced_depth

SETTLED: Final = 0.03
"""Relative change of a state below which it counts as settled: the threshold of Huginn's latent criterion."""


@dataclass(frozen=True)
class Records:
    """One evaluation of one subtask."""

    evaluation: Evaluation
    labels: Labels
    max_depth: int
    instances: pl.DataFrame
    """A row per instance, with the sums over its tokens, and `number`, its place among those of its knob."""

    @cached_property
    def answers(self) -> pl.DataFrame:
        """A row per answer token: knob, number, split, position, exit_depth, ce."""
        tokens = self.evaluation.tokens.filter(pl.col("target_kind") == "answer")
        columns = tokens.select("instance_id", "position", pl.col("exit_depth").cast(pl.Int64), _column(tokens, "ce"))
        places = self.instances.select("instance_id", "knob", "number", "split")
        return self.evaluation.collect(columns).join(places, on="instance_id")

    @cached_property
    def depths(self) -> dict[int, int]:
        """Exit depth -> how many tokens have it."""
        counts = self.evaluation.collect(self.evaluation.tokens.group_by("exit_depth").agg(pl.len()))
        return dict(counts.iter_rows())

    @cached_property
    def settled(self) -> int | None:
        """Tokens whose state the last iteration changed by less than SETTLED of its norm; None where it is unknown."""
        change = _column(self.evaluation.tokens, "change")
        settled = pl.when(change.null_count() == 0).then((change < SETTLED).sum())
        found: int | None = self.evaluation.collect(self.evaluation.tokens.select(settled)).item()
        return found

    @property
    def seen(self) -> pl.DataFrame:
        """The instances at knobs of training."""
        return self.instances.filter(pl.col("split") == "seen")

    @property
    def hardest(self) -> int | None:
        """The largest knob of training that was evaluated."""
        return self.seen["knob"].max()  # type: ignore[return-value]


@dataclass(frozen=True)
class RunRecords:
    """All evaluations of one run at one step, of one subtask."""

    own: tuple[Records, ...]
    """Those in which the policy chose, the main one first."""
    forced: Mapping[int, Records]
    """Depth -> the evaluation with every token forced to it."""
    virtual: tuple[Records, ...]

    @property
    def main(self) -> Records:
        """The evaluation by the policy's default rule."""
        return self.own[0]


def read_runs(records: str | Path | Sequence[str | Path]) -> Iterator[RunRecords]:
    """Yield the records of each run below some paths: run folders, or folders of single evaluations."""
    paths = [Path(one) for one in ([records] if isinstance(records, str | Path) else records)]
    if not paths:
        raise UserError("name at least one run folder or evaluation folder")
    for folders in _by_run([folder for path in paths for folder in _evaluations(path)]):
        for subtask in find_subtasks(folders[-1]):
            yield _read_run(folders, subtask)


def _evaluations(path: Path) -> list[Path]:
    """Return the evaluation at a path, or those of a run at the step of its main one, which stands last."""
    main = choose_evaluation(path)
    if (path / ASKED).is_file():
        return [main]
    step = read_asked(main)["step"]
    found = [folder for folder in find_evaluations(path) if folder.name != main.name]
    asked = {folder: read_asked(folder) for folder in found}
    return [folder for folder in found if asked[folder]["step"] == step and asked[folder]["complete"]] + [main]


def _by_run(folders: Sequence[Path]) -> list[list[Path]]:
    """Return folders grouped by run and step, the main evaluation of each group last."""
    groups: dict[tuple[str, int], list[Path]] = {}
    for folder in folders:
        asked = read_asked(folder)
        groups.setdefault((asked["run_id"], asked["step"]), []).append(folder)

    def is_main(folder: Path) -> bool:
        return folder.name == "final" and not read_asked(folder).get("override")

    return [sorted(group, key=is_main) for group in groups.values()]


def _read_run(folders: Sequence[Path], subtask: str) -> RunRecords:
    own: dict[tuple[Any, ...], Records] = {}
    forced: dict[int, Records] = {}
    virtual: list[Records] = []
    for folder in reversed(folders):
        override = str(read_asked(folder).get("override", ""))
        depth = forced_depth(override)
        if not override or folder == folders[-1]:
            read = _read(folder, subtask)
            if override:  # the label says that the policy did not choose
                read = replace(read, labels=replace(read.labels, select=override))
            own.setdefault((read.labels.select, read.labels.threshold, read.labels.decode), read)
        if depth is not None:
            forced.setdefault(depth, _read(folder, subtask))
        elif override == "virtual":
            virtual.append(_read(folder, subtask))
    return RunRecords(tuple(own.values()), dict(sorted(forced.items())), tuple(virtual))


def _read(folder: Path, subtask: str) -> Records:
    return read_records(load_evaluation(folder, subtask or None))


def read_records(evaluation: Evaluation) -> Records:
    """Return the instances of an evaluation, and whose they are; tokens stay on disk until they are asked for."""
    first = pl.col("instance_id").min().over("knob")
    instances = instance_table(evaluation).with_columns(number=pl.col("instance_id") - first)
    row = instances.row(0, named=True)
    policy = run_config(evaluation.folder).get("model", {}).get("policy", {}).get("name", row["variant"])
    return Records(
        evaluation,
        labels_of({**row, "policy": policy}),
        int(row["full_iterations"] // max(1, row["num_tokens"])),
        instances,
    )


def _column(table: pl.LazyFrame, name: str) -> pl.Expr:
    """Return a column, or nothing where the records are older than it."""
    return pl.col(name) if name in table.collect_schema().names() else pl.lit(None, pl.Float64).alias(name)
