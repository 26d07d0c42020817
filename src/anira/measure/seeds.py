"""Seeds are the unit of inference: from rows of several seeds to their mean with a t interval over seeds."""

import math
from typing import Any, Final

import polars as pl
from scipy import stats

from anira.measure.statistics.estimates import LEVEL
from anira.measure.tidy import SCHEMA, joined, make_table

FEWEST: Final = 3
"""Seeds below which an interval over seeds is no ground for a verdict."""
_LEAST: Final = {"share": 0.0, "rank": -1.0}
"""Units whose values end at 1, by their first word, and the least value: intervals end there too."""
_SAME: Final = [
    name
    for name in SCHEMA
    if name not in ("run_id", "seed", "value", "low", "high", "null_low", "null_high", "n", "reason")
]


def over_seeds(table: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each setting and quantity: the mean over seeds, `n` of them, with its 95% t interval.

    Rows count as one setting if they differ in run, seed and value only. With values 0.8, 0.9 and 1.0 the row is 0.9
    [0.65, 1.15], n = 3; the interval of a share ends at 0 and 1, that of a rank correlation at -1 and 1. With fewer
    than three seeds the reason says so, and one seed keeps its interval over instances.
    """
    groups = table.group_by(_SAME, maintain_order=True)
    return make_table(_row(dict(zip(_SAME, key, strict=True)), part) for key, part in groups)


def t_interval(values: list[float]) -> tuple[float, float] | None:
    """Return the 95% t interval of a mean; None for fewer than two values.

    >>> [round(end, 3) for end in t_interval([0.8, 0.9, 1.0])]
    [0.652, 1.148]
    """
    count = len(values)
    if count < 2:
        return None
    mean = sum(values) / count
    variance = sum((value - mean) ** 2 for value in values) / (count - 1)
    half = float(stats.t.ppf((1 + LEVEL) / 2, count - 1)) * math.sqrt(variance / count)
    return mean - half, mean + half


def _row(same: dict[str, Any], part: pl.DataFrame) -> dict[str, Any]:
    if part["seed"].is_duplicated().any():
        raise ValueError(f"two runs of one seed in {same['variant']}, {same['quantity']}: give them different variants")
    values = part["value"].drop_nulls().to_list()
    alone = (part["low"][0], part["high"][0]) if len(part) == 1 else (None, None)
    low, high = t_interval(values) or alone
    least = _LEAST.get(same["unit"].partition(" ")[0])
    if low is not None and high is not None and least is not None:
        low, high = max(low, least), min(high, 1.0)
    return {
        **same,
        "run_id": None,
        "seed": None,
        "value": sum(values) / len(values) if values else None,
        "low": low,
        "high": high,
        "null_low": part["null_low"].mean(),
        "null_high": part["null_high"].mean(),
        "n": len(values),
        "reason": joined(_how_many(len(values), len(part)), *part["reason"].unique(maintain_order=True)),
    }


def _how_many(defined: int, seeds: int) -> str:
    """Say what the number of seeds does not allow.

    >>> _how_many(2, 3), _how_many(3, 3)
    ('undefined in 1 of 3 seeds; fewer than 3 seeds', '')
    """
    undefined = f"undefined in {seeds - defined} of {seeds} seeds" if defined < seeds and defined else ""
    few = f"fewer than {FEWEST} seeds" if 0 < defined < FEWEST else ""
    return joined(undefined, few)
