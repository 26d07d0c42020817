"""What must hold in records before anything is computed from them: a rank or a mean hides a wrong value."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import polars as pl

from anira.analysis.stored import ASKED

LABELS: Final = ("run_id", "step", "variant", "seed", "select", "threshold", "decode", "override")
"""Columns of the instances that are the same in every row, and stand in evaluation.json too."""
_ROUNDING: Final = 1e-3
"""Of sums of float32 probabilities; ours are off by less than 1e-6."""
_OPTIONAL: Final = ("seen_in_training", "expected_depth", "exit_probs")
"""Columns that may be empty, beside those of floats: a probe is null where it is not defined."""


def complaints(knob: int, instances: pl.DataFrame, tokens: pl.DataFrame) -> Iterator[str]:
    """Yield what is wrong with the two tables of one knob; nothing where all is well."""
    for name, table in (("instances", instances), ("tokens", tokens)):
        yield from (f"{name}: {line}" for line in _values(table, knob))
    yield from _instances(instances)
    yield from _rows(instances, tokens)
    yield from _depths(tokens, largest_depth(instances))


def other_labels(asked: Mapping[str, Any], instances: pl.DataFrame) -> Iterator[str]:
    """Yield in what records are not those that their evaluation.json says they are."""
    for name in (name for name in LABELS if name in asked):
        if not instances[name].eq_missing(asked[name]).all():
            yield f"instances: {name} is not {asked[name]!r}, as {ASKED} says"


def largest_depth(instances: pl.DataFrame) -> int:
    """Return the largest depth D of the model whose records these are."""
    first = instances.row(0, named=True)
    return int(first["full_iterations"] // max(1, first["num_tokens"]))


def _values(table: pl.DataFrame, knob: int) -> Iterator[str]:
    if table.is_empty():
        yield "there is no row"
    if (table["knob"] != knob).any():
        yield f"some knob is not {knob}"
    for name, dtype in table.schema.items():
        if table[name].null_count() and not dtype.is_float() and name not in _OPTIONAL:
            yield f"{name} is missing in some row"
        if dtype.is_float() and not table[name].drop_nulls().is_finite().all():
            yield f"{name} is not a finite number in some row"


def _instances(table: pl.DataFrame) -> Iterator[str]:
    if table["instance_id"].is_duplicated().any():
        yield "two instances have the same instance_id"
    tokens, full = table["num_tokens"].cast(pl.Int64), table["full_iterations"]
    if (tokens < 1).any() or (full != tokens * largest_depth(table)).any() or largest_depth(table) < 1:
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
    exit_depth, executed = (tokens[name].cast(pl.Int64) for name in ("exit_depth", "executed"))
    expected = tokens["expected_depth"].cast(pl.Float64)
    if not exit_depth.is_between(1, largest).all():
        yield f"exit_depth must lie between 1 and {largest}"
    if not (executed.is_between(1, largest).all() and (executed >= exit_depth).all()):
        yield f"executed must lie between exit_depth and {largest}"
    if not expected.is_between(1 - _ROUNDING, largest + _ROUNDING).all():
        yield f"expected_depth must lie between 1 and {largest}"
    if "exit_probs" in tokens.columns and tokens["exit_probs"].dtype != pl.Null:
        whole = tokens["exit_probs"].drop_nulls()
        probs = whole.list
        sure = (probs.len() == largest) & (probs.min() >= 0) & ((probs.sum() - 1).abs() <= _ROUNDING)
        if not sure.all() or whole.explode().null_count():
            yield f"exit_probs must be {largest} probabilities that add up to 1"
