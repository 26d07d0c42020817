"""What is read from the runs of a comparison: the tidy table, and each policy against trained fixed depths."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from anira.measure import measure, over_seeds
from anira.measure.tidy import Row, find, make_table

COMPUTE: Final = ("iterations", "flops")
"""Quantities by which compute is counted."""
_RULE: Final = ["run_id", "select", "threshold", "decode"]
_FIXED: Final = "fixed"


@dataclass(frozen=True)
class Compared:
    """One task's comparison in numbers."""

    task: str
    policies: tuple[str, ...]
    """Labels of what is judged: every variant that is no fixed depth below the largest."""
    runs: pl.DataFrame
    """The tidy table: a row per run and estimate."""
    seeds: pl.DataFrame
    """The same over seeds, by each policy's default rule."""
    swept: pl.DataFrame
    """Accuracy and compute over seeds at other thresholds."""

    def row(self, label: str, quantity: str, subset: str = "all") -> Row:
        """Return a policy's estimate over seeds and all knobs (or the one knob that it is about)."""
        return find(self.seeds, quantity, subset=subset, split="seen", variant=label)

    def rows(self, quantity: str, subset: str = "all") -> pl.DataFrame:
        """Return the estimates of a quantity over seeds, by policy and knob."""
        return self.seeds.filter(quantity=quantity, subset=subset, split="seen")


def compared(
    task: str, folders: Mapping[str, Sequence[Path]], labels: Mapping[str, str], *, draws: int = 1000
) -> Compared:
    """Measure a comparison; `folders` has the evaluations of each run, `labels` its name on the page, by run id."""
    table = measure([folder for one in folders.values() for folder in one], draws=draws)
    table = table.with_columns(pl.lit(task).alias("task"), pl.col("run_id").replace_strict(labels).alias("variant"))
    rules = table.filter(quantity="max_depth").select(_RULE)
    main = table.join(rules, on=_RULE, how="semi", nulls_equal=True)
    above = make_table(_above_fixed(main))
    table, main = pl.concat([table, above]), pl.concat([main, above])
    other = table.join(rules, on=_RULE, how="anti", nulls_equal=True)
    judged = tuple(dict.fromkeys(name for name in labels.values() if not is_shallow(name)))
    return Compared(task, judged, table, over_seeds(main), over_seeds(other))


def is_shallow(label: str) -> bool:
    """Say whether a label is that of a fixed depth below the largest, which only the curve is made of.

    >>> is_shallow("fixed-2"), is_shallow("fixed")
    (True, False)
    """
    return label.startswith(f"{_FIXED}-")


def is_fixed(label: str) -> bool:
    """Say whether a label is that of a fixed depth."""
    return label == _FIXED or is_shallow(label)


def _above_fixed(main: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield each run's accuracy less that of fixed depths with the same seed at equal compute."""
    whole = main.filter(pl.col("knob").is_null() & (pl.col("subset") == "all") & (pl.col("split") == "seen"))
    fixed = whole.filter(pl.col("variant").map_elements(is_fixed, return_dtype=pl.Boolean))
    for row in whole.filter(quantity="accuracy").iter_rows(named=True):
        if is_fixed(row["variant"]):
            continue
        for compute in COMPUTE:
            spent = whole.filter(run_id=row["run_id"], quantity=compute)["value"].item()
            value, reason = _above(row["value"], spent, _curve(fixed.filter(seed=row["seed"]), compute))
            empty = dict.fromkeys(("low", "high", "null_low", "null_high"))
            named = {"quantity": "above_fixed", "subset": compute, "unit": "difference of shares"}
            yield {**row, **empty, **named, "value": value, "reason": reason}


def _curve(fixed: pl.DataFrame, compute: str) -> list[tuple[float, float]]:
    """Return (compute, accuracy) of the fixed depths of one seed, ascending."""
    pairs = []
    for _, run in fixed.group_by("run_id"):
        found = {row["quantity"]: row["value"] for row in run.iter_rows(named=True)}
        pairs.append((found[compute], found["accuracy"]))
    return sorted(pairs)


def _above(accuracy: float, spent: float, curve: list[tuple[float, float]]) -> tuple[float | None, str]:
    """Return how far a point lies above a curve, with a caveat or the reason why that is undefined.

    Between two depths the curve is a straight line; beyond the deepest it stays level.

    >>> _above(0.9, 1.5, [(1.0, 0.5), (2.0, 0.7)])[0]
    0.3
    """
    if len(curve) < 2:
        return None, "there are no trained fixed depths with this seed: compare with fixed"
    x, y = zip(*curve, strict=True)
    if spent < x[0] * (1 - 1e-9):
        return None, "it spends less than fixed depth 1"
    beyond = "it spends more than the deepest fixed depth" if spent > x[-1] * (1 + 1e-9) else ""
    return round(accuracy - float(np.interp(spent, x, y)), 12), beyond
