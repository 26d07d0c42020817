"""What a run wrote down while it trained (metrics.jsonl): its evaluations, and the batches that it logged.

{"kind": "train", "step": 50, "depth_answer": 2.84, "gamma": 0.01, ...}              one batch of training rows
{"kind": "eval", "step": 500, "knob": 3, "n": 200, "accuracy": 0.35, ...}            one knob of one evaluation
{"kind": "end", "run_id": "...", "sha256": "77..."}                                  the check-sum of all lines before
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl

from anira.config import UserError
from anira.config.folder import inside
from anira.config.sealed import end_line, parse_json
from anira.config.strict import run_id
from anira.measure.records.stored import is_finished, read_config

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
_WHOLE: Final = ("step", "knob", "n")
_TOO_LARGE: Final = 2**63


def read_metrics(run: Path) -> Metrics:
    """Return the lines of a run's metrics; a last line that was cut short is left out if the run is not finished."""
    path = inside(run, "metrics.jsonl")
    if not path.exists():
        return ()
    lines = path.read_bytes().split(b"\n")
    if is_finished(run):
        before = b"".join(line + b"\n" for line in lines[:-2])
        if b"\n".join(lines[-2:]) != end_line(before, run_id(read_config(run))):
            raise UserError(f"{path} is damaged: its last line does not fit the lines before it and the run")
    # What comes after the last end of a line is empty, or a line that was cut short.
    parsed = [_parse(line, path) for line in lines[:-1]]
    return tuple(line for line in parsed if line["kind"] != "end")


def evaluation_lines(metrics: Metrics) -> pl.DataFrame:
    """Return evaluations, one row per step and knob: step, knob, instances, accuracy, depth, expected_depth."""
    table = _table((line for line in metrics if line.get("kind") == "eval"), _EVALUATIONS)
    whole = table.drop_nulls(["step", "knob", "instances", "accuracy", "depth"])
    return whole.unique(["step", "knob"], keep="last").sort("step", "knob")


def batch_lines(metrics: Metrics) -> pl.DataFrame:
    """Return logged batches of training, one row per step: step, depth (of answer tokens, as drawn), gamma."""
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


def _parse(line: bytes, path: Path) -> dict[str, Any]:
    """Return a line of words and numbers; anything else was not written by a run."""
    try:
        parsed = parse_json(line)
    except ValueError as error:
        raise UserError(f"cannot read {path}: {error}") from error
    if not isinstance(parsed, dict) or not isinstance(parsed.get("kind"), str):
        raise UserError(f"cannot read {path}: every line must be a table with a kind")
    for name, value in parsed.items():
        number = isinstance(value, int | float) and abs(value) < _TOO_LARGE
        if not (number or value is None or isinstance(value, str)) or (name in _WHOLE and type(value) is not int):
            raise UserError(f"cannot read {path}: {name} cannot be {value!r}")
    return parsed
