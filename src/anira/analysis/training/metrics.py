"""What a run wrote down while it trained (metrics.jsonl): its evaluations, and the batches that it logged.

{"kind": "train", "step": 50, "depth_answer": 2.84, "gamma": 0.01, ...}              one batch of training rows
{"kind": "eval", "step": 500, "knob": 3, "n": 200, "accuracy": 0.35, ...}            one knob of one evaluation
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl

from anira.config import UserError

Metrics = tuple[Mapping[str, Any], ...]

_EVALUATIONS: Final = {
    "step": "step",
    "knob": "knob",
    "n": "instances",
    "accuracy": "accuracy",
    "depth_answer": "depth",
    "expected_depth_answer": "expected_depth",
}
_BATCHES: Final = {"step": "step", "depth_answer": "depth", "gamma": "gamma"}
_INTEGERS: Final = ("step", "knob", "instances")


def read_metrics(path: Path) -> Metrics:
    """Return the lines of a metrics file; a last line that an interrupt cut short is left out."""
    lines = path.read_text().splitlines() if path.is_file() else []
    parsed = [_parse(line, path, last=i == len(lines) - 1) for i, line in enumerate(lines)]
    return tuple(line for line in parsed if line)


def evaluation_lines(metrics: Metrics) -> pl.DataFrame:
    """Return evaluations, one row a step and knob: step, knob, instances, accuracy, depth, expected_depth."""
    table = _table((line for line in metrics if line.get("kind") == "eval"), _EVALUATIONS)
    whole = table.drop_nulls(["step", "knob", "instances", "accuracy", "depth"])
    return whole.unique(["step", "knob"], keep="last").sort("step", "knob")


def batch_lines(metrics: Metrics) -> pl.DataFrame:
    """Return logged batches of training, one row a step: step, depth (of answer tokens, as drawn), gamma."""
    table = _table((line for line in metrics if line.get("kind") == "train"), _BATCHES)
    return table.drop_nulls(["step", "depth"]).unique("step", keep="last").sort("step")


def _table(lines: Iterable[Mapping[str, Any]], columns: Mapping[str, str]) -> pl.DataFrame:
    """Return chosen keys under the names that tables have; a missing key is null."""
    schema = {name: pl.Int64 if name in _INTEGERS else pl.Float64 for name in columns.values()}
    rows = [{name: line.get(key) for key, name in columns.items()} for line in lines]
    try:
        return pl.DataFrame(rows, schema=schema)
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise UserError(f"the metrics hold something that is no number: {str(error).splitlines()[0]}") from error


def _parse(line: str, path: Path, *, last: bool) -> dict[str, Any]:
    try:
        parsed: dict[str, Any] = json.loads(line)
    except ValueError as error:
        if last:
            return {}
        raise UserError(f"cannot read {path}: {error}") from error
    return parsed
