"""Rows of a task as plain values, chunk by chunk: what `sample` prints and `export` writes."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from anira.config import UserError
from anira.tasks import BlockTask, Rows

CHUNK = 1024  # rows in memory at a time
_LARGEST = 2**63 - 1  # what a Parquet integer holds


@dataclass(frozen=True, kw_only=True)
class Address:
    """Which rows: row i of (task config, seed, stream, knob) is always the same."""

    seed: int
    stream: str
    start: int
    count: int
    knob: int | None

    def first(self, task: BlockTask) -> Rows:
        """Return the first row, or raise a UserError if the task has no such rows."""
        if self.count < 1:
            raise UserError(f"-n must be at least 1, not {self.count}")
        if max(self.seed, self.start + self.count) > _LARGEST:
            raise UserError(f"seeds and row numbers end at {_LARGEST}")
        return task.rows(seed=self.seed, stream=self.stream, start=self.start, count=1, knob=self.knob)

    def chunks(self, task: BlockTask) -> Iterator[tuple[int, Rows]]:
        """Yield the index of the first row of each chunk, and the chunk."""
        end = self.start + self.count
        for start in range(self.start, end, CHUNK):
            count = min(CHUNK, end - start)
            yield start, task.rows(seed=self.seed, stream=self.stream, start=start, count=count, knob=self.knob)


def row_values(task: BlockTask, rows: Rows, i: int) -> dict[str, Any]:
    """Return what there is to know about row i, probes aside, as JSON values."""
    instance, knob, length = task.instance(rows, i), int(rows.knob[i]), int(rows.lengths[i])
    return {
        "knob": knob,
        "split": task.knob.split(knob),
        "question": instance.question,
        "answer": instance.answer,
        "meta": instance.meta,
        "input_ids": rows.ids(i),
        "labels": rows.labels[i, :length].tolist(),
    }


def probe_values(task: BlockTask, rows: Rows, i: int) -> dict[str, list[Any]]:
    """Return the probes of row i with None where they are undefined; a vector probe has a list a token.

    For MANO, `{"stack_depth": [None, 0.0, 1.0, 2.0, ...], ...}`.
    """
    return {name: [_defined(value) for value in values.tolist()] for name, values in task.probes(rows, i).items()}


def _defined(value: Any) -> Any:
    if isinstance(value, list):
        return [item for item in value if not math.isnan(item)] or None
    return None if math.isnan(value) else value
