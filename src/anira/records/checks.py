"""What must hold in the two tables of a knob, when they are written and whenever they are read.

A rank or a mean hides a wrong value. So a depth of 999, a row that is there twice or a NaN is refused at the door, and
nothing behind it has to think of them.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Final

import polars as pl

from anira.config import UserError
from anira.records import ASKED
from anira.records.opening import open_tables

LABELS: Final = ("run_id", "step", "variant", "seed", "select", "threshold", "decode", "override")
"""Columns of the instances that are the same in every row, and stand in evaluation.json too."""
_STRINGS = dict.fromkeys(
    ("run_id", "task", "subtask", "split", "variant", "select", "decode", "override", "answer"), "string"
)
_COUNTS = ("num_tokens", "iterations", "full_iterations", "decisions", "flops", "full_flops", "kv_slots")
INSTANCE_COLUMNS: Final = {
    **_STRINGS,
    **dict.fromkeys(("step", "instance_id", "knob", "seed", *_COUNTS, "full_kv_slots"), "integer"),
    **dict.fromkeys(("correct", "lenient_correct", "seen_in_training"), "boolean"),
    "threshold": "float",
}
TOKEN_COLUMNS: Final = {
    **dict.fromkeys(("instance_id", "position", "knob", "exit_depth", "executed"), "integer"),
    "target_kind": "string",
    "expected_depth": "float",
}
"""Name -> kind of the columns that analysis reads; a table may have more."""
_PROBS: Final = "exit_probs"
_OPTIONAL: Final = ("seen_in_training", "expected_depth", _PROBS)
"""Columns that may be empty, beside those of floats: a probe is null where it is not defined."""
_ROUNDING: Final = 1e-3
"""Of sums of float32 probabilities; ours are off by less than 1e-6."""


def check_files(asked: Mapping[str, Any], knob: int, instances: Path, tokens: Path) -> None:
    """Raise a UserError if the two files of a knob hold what no evaluation can have written."""
    tables = _read(instances, INSTANCE_COLUMNS), _read(tokens, TOKEN_COLUMNS)
    for complaint in chain(_other_labels(asked, tables[0]), complaints(knob, *tables)):
        raise UserError(f"{tokens.parent} has records that cannot be, knob {knob}: {complaint}; evaluate again")


def complaints(knob: int, instances: pl.DataFrame, tokens: pl.DataFrame) -> Iterator[str]:
    """Yield what is wrong with the two tables of one knob; nothing where all is well."""
    instances, tokens = (
        table.select(_checked(table.schema, columns))
        for table, columns in ((instances, INSTANCE_COLUMNS), (tokens, TOKEN_COLUMNS))
    )
    for name, table in (("instances", instances), ("tokens", tokens)):
        yield from (f"{name}: {line}" for line in _values(table, knob))
    yield from _instances(instances)
    yield from _rows(instances, tokens)
    yield from _depths(tokens, _largest_depth(instances))


def _read(path: Path, columns: Mapping[str, str]) -> pl.DataFrame:
    """Return the columns of a table that are checked, each of its kind."""
    try:
        table = open_tables(path)
        schema = table.collect_schema()
        for name, kind in columns.items():
            if name not in schema:
                raise UserError(f"{path} has no column {name!r}: it was not written by anira evaluate")
            if not _is_kind(schema[name], kind):
                raise UserError(f"{path}: column {name!r} must be {kind}, not {schema[name]}")
        if schema.get(_PROBS, pl.Null) not in (pl.Null, pl.List(pl.Float32), pl.List(pl.Float64)):
            raise UserError(f"{path}: column {_PROBS!r} must be lists of floats, not {schema[_PROBS]}")
        return table.select(_checked(schema, columns)).collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        line = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(f"cannot read {path}: {line}; evaluate this knob again") from error


def _checked(schema: Mapping[str, pl.DataType], columns: Mapping[str, str]) -> list[str]:
    """Return the columns that are checked: those that analysis always reads, and all that hold floats."""
    numbers = [name for name, dtype in schema.items() if dtype.is_float() or name == _PROBS]
    return list(dict.fromkeys([*columns, *numbers]))


def _is_kind(dtype: pl.DataType, kind: str) -> bool:
    """Say whether a column can be read as this kind; a column without any value has no type of its own."""
    if kind == "string":
        return dtype in (pl.String, pl.Categorical, pl.Enum)
    if kind == "boolean":
        return dtype == pl.Boolean
    return dtype.is_integer() if kind == "integer" else dtype.is_float() or dtype == pl.Null


def _other_labels(asked: Mapping[str, Any], instances: pl.DataFrame) -> Iterator[str]:
    """Yield in what records are not those that their evaluation.json says they are."""
    for name in (name for name in LABELS if name in asked):
        if instances[name].unique().to_list() != [asked[name]]:
            yield f"instances: {name} is not {asked[name]!r}, as {ASKED} says"


def _largest_depth(instances: pl.DataFrame) -> int:
    first = instances.row(0, named=True)
    return int(first["full_iterations"] // max(1, first["num_tokens"]))


def _values(table: pl.DataFrame, knob: int) -> Iterator[str]:
    if table.is_empty():
        yield "there is no row"
    if (table["knob"] != knob).any():
        yield f"some knob is not {knob}"
    floats = [name for name, dtype in table.schema.items() if dtype.is_float()]
    missing, finite = table.null_count(), table.select(pl.col(name).is_finite().all() for name in floats)
    for name in table.columns:
        if name in floats:
            if not finite[name].item():  # nulls are not looked at
                yield f"{name} is not a finite number in some row"
        elif missing[name].item() and name not in _OPTIONAL:
            yield f"{name} is missing in some row"


def _instances(table: pl.DataFrame) -> Iterator[str]:
    if table["instance_id"].is_duplicated().any():
        yield "two instances have the same instance_id"
    tokens, full, largest = table["num_tokens"].cast(pl.Int64), table["full_iterations"], _largest_depth(table)
    if (tokens < 1).any() or (full != tokens * largest).any() or largest < 1:
        yield "full_iterations must be num_tokens times the largest depth, the same in every row"
    if ((table["iterations"] < 0) | (table["iterations"] > full)).any():
        yield "iterations must lie between 0 and full_iterations"


def _rows(instances: pl.DataFrame, tokens: pl.DataFrame) -> Iterator[str]:
    if tokens.select("instance_id", "position").is_duplicated().any():
        yield "two tokens have the same instance_id and position"
    expected = instances.select("instance_id", pl.col("num_tokens").cast(pl.Int64))
    found = tokens.group_by("instance_id").agg(
        rows=pl.len().cast(pl.Int64), first=pl.col("position").min(), last=pl.col("position").max()
    )
    both = expected.join(found, on="instance_id", how="full", coalesce=True)
    whole = (pl.col("rows") == pl.col("num_tokens")) & (pl.col("first") == 0) & (pl.col("last") + 1 == pl.col("rows"))
    if not both.select(whole.fill_null(value=False).all()).item():
        yield "every instance must have a token row for each of its positions, and no others"


def _depths(tokens: pl.DataFrame, largest: int) -> Iterator[str]:
    for name in ("expected_depth", _PROBS):
        if name in tokens.columns and 0 < tokens[name].null_count() < len(tokens):
            yield f"{name} must be there in every row, or in none"
    # A policy that routes may leave out every iteration, or one before the last; one with a distribution may not.
    exits = tokens["expected_depth"].is_not_null()
    for part, least in ((tokens.filter(exits), 1), (tokens.filter(~exits), 0)):
        exit_depth, executed = (part[name].cast(pl.Int64) for name in ("exit_depth", "executed"))
        if not exit_depth.is_between(least, largest).all():
            yield f"exit_depth must lie between {least} and {largest}"
        if not executed.is_between(least, largest).all() or (least and (executed < exit_depth).any()):
            yield f"executed must lie between {'exit_depth' if least else 0} and {largest}"
    if not tokens["expected_depth"].cast(pl.Float64).is_between(1 - _ROUNDING, largest + _ROUNDING).all():
        yield f"expected_depth must lie between 1 and {largest}"
    if _PROBS in tokens.columns and tokens[_PROBS].dtype != pl.Null:
        whole = tokens[_PROBS].drop_nulls()
        probs = whole.list
        sure = (probs.len() == largest) & (probs.min() >= 0) & ((probs.sum() - 1).abs() <= _ROUNDING)
        if not sure.all() or whole.explode().null_count():
            yield f"{_PROBS} must be {largest} probabilities that add up to 1"
