"""Two runs side by side, knob by knob: accuracy and depth of both, and how far they differ.

Evaluations of a task read the same instances, so two runs are compared on those that both have, and the interval is
that of paired differences. It is over instances: it says nothing about other seeds of the two.
"""

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import polars as pl
from scipy import stats

from anira.config import UserError
from anira.measure.records.reading import Records
from anira.measure.statistics.bootstrap import SMALLEST_STRATUM
from anira.measure.statistics.estimates import LEVEL, Floats

COLUMNS: Final[dict[str, Any]] = {
    "subtask": pl.String,
    "split": pl.String,
    "knob": pl.Int64,
    "quantity": pl.String,
    "first": pl.Float64,
    "second": pl.Float64,
    "difference": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "n": pl.Int64,
    "paired": pl.Boolean,
}
"""`difference` is second less first, with its 95% interval; `n` instances of the first are behind it."""
_QUANTITIES: Final = {"accuracy": ("correct", None), "depth": ("answer_depth", "answer_tokens")}
"""Quantity -> what is summed over instances, and what the sum is divided by, if not their number."""
_SAME: Final = ("knob", "number", "question")
_Z: Final = float(stats.norm.ppf((1 + LEVEL) / 2))


def paired_table(first: list[Records], second: list[Records]) -> pl.DataFrame:
    """Return one row per subtask, knob and quantity that both runs have; each list has one evaluation per subtask."""
    others = {one.labels.subtask: one for one in second}
    rows = [row for one in first if (other := others.get(one.labels.subtask)) for row in _rows(one, other)]
    if not rows:
        tasks = [", ".join(sorted({one.labels.task for one in side})) for side in (first, second)]
        raise UserError(f"the two runs have no knob in common: they are about {tasks[0]} and {tasks[1]}")
    return pl.DataFrame(rows, schema=COLUMNS).sort("subtask", "knob", "quantity")


def _rows(first: Records, second: Records) -> Iterator[dict[str, Any]]:
    if first.labels.task != second.labels.task:
        return
    for (knob,), one in sorted(first.instances.partition_by("knob", as_dict=True).items()):
        other = second.instances.filter(knob=knob)
        common = one.join(other, on=list(_SAME), suffix="_other", maintain_order="left")
        for quantity, names in _QUANTITIES.items():
            if other.height:
                found = _paired(common, *names) if common.height else _apart(one, other, *names)
                labels = {"subtask": first.labels.subtask, "split": one["split"][0], "knob": knob}
                yield {**labels, "quantity": quantity, **found, "paired": bool(common.height)}


def _paired(common: pl.DataFrame, name: str, over: str | None) -> dict[str, Any]:
    """Compare on the same instances."""
    first, second = (_ratio(common, name, over, suffix) for suffix in ("", "_other"))
    return _difference(first, second, _error(second[1] - first[1]), len(common))


def _apart(one: pl.DataFrame, other: pl.DataFrame, name: str, over: str | None) -> dict[str, Any]:
    """Compare different instances of a knob."""
    first, second = _ratio(one, name, over), _ratio(other, name, over)
    return _difference(first, second, math.hypot(_error(first[1]), _error(second[1])), min(len(one), len(other)))


def _ratio(table: pl.DataFrame, name: str, over: str | None, suffix: str = "") -> tuple[float, Floats]:
    """Return a sum over another one, and what each instance adds to it, as deviations from the whole.

    >>> table = pl.DataFrame({"answer_depth": [2, 9], "answer_tokens": [1, 3]})
    >>> whole, parts = _ratio(table, "answer_depth", "answer_tokens")
    >>> whole, parts.tolist()
    (2.75, [-0.375, 0.375])
    """
    values = table[f"{name}{suffix}"].cast(pl.Float64).to_numpy()
    weights = np.ones(len(values)) if over is None else table[f"{over}{suffix}"].cast(pl.Float64).to_numpy()
    whole = float(values.sum() / weights.sum())
    return whole, (values - whole * weights) / weights.mean()


def _error(parts: Floats) -> float:
    return float(parts.std(ddof=1) / math.sqrt(len(parts))) if len(parts) > 1 else 0.0


def _difference(first: tuple[float, Floats], second: tuple[float, Floats], error: float, count: int) -> dict[str, Any]:
    """Return the values and their difference; no interval where it would rest on too little, or nothing varies."""
    value = second[0] - first[0]
    known = error > 0 and count >= SMALLEST_STRATUM
    ends = {"low": value - _Z * error, "high": value + _Z * error} if known else {"low": None, "high": None}
    return {"first": first[0], "second": second[0], "difference": value, **ends, "n": count}
