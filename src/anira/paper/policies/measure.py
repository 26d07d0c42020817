"""What is read from the runs of a comparison: the tidy table, and each policy against trained fixed depths."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import polars as pl

from anira.measure import DRAWS, Row, make_table, over_seeds
from anira.paper.found import Found, measure_labelled

COMPUTE: Final = ("iterations", "flops")
"""Quantities by which compute is counted."""
_RULE: Final = ["run_id", "select", "threshold", "decode"]
FIXED: Final = "^fixed(-|$)"
"""What labels of fixed depths begin with."""


def compared(
    task: str, folders: Mapping[str, Sequence[Path]], labels: Mapping[str, str], *, draws: int = DRAWS
) -> Found:
    """Measure a comparison; `folders` has the evaluations of each run, `labels` its name on the page, by run id.

    Rows over seeds are those by each policy's default rule.
    """
    table = measure_labelled(task, folders, labels, draws=draws)
    main = by_main_rule(table)
    above = make_table(_above_fixed(main))
    return Found(pl.concat([table, above]), over_seeds(pl.concat([main, above])))


def by_main_rule(table: pl.DataFrame, how: Literal["semi", "anti"] = "semi") -> pl.DataFrame:
    """Return the rows by each policy's default rule, or the others (anti)."""
    rules = table.filter(quantity="max_depth").select(_RULE)
    return table.join(rules, on=_RULE, how=how, nulls_equal=True)


def policies(found: Found) -> list[str]:
    """Return what is judged: every variant that is no fixed depth below the largest."""
    return [name for name in found.seeds["variant"].unique(maintain_order=True) if not is_shallow(name)]


def row(found: Found, label: str, quantity: str, subset: str = "all") -> Row:
    """Return a policy's estimate over seeds and all knobs (or the one knob that it is about)."""
    return found.row(quantity, subset=subset, split="seen", variant=label)


def is_shallow(label: str) -> bool:
    """Say whether a label is that of a fixed depth below the largest, which only the curve is made of.

    >>> is_shallow("fixed-2"), is_shallow("fixed")
    (True, False)
    """
    return label.startswith("fixed-")


def is_fixed(label: str) -> bool:
    """Say whether a label is that of a fixed depth."""
    return re.match(FIXED, label) is not None


def whole_rows(table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows over all knobs of training."""
    return table.filter(pl.col("knob").is_null(), subset="all", split="seen")


def _above_fixed(main: pl.DataFrame) -> Iterator[Row]:
    """Yield each run's accuracy minus that of fixed depths with the same seed at equal compute."""
    whole = whole_rows(main).filter(pl.col("quantity").is_in(["accuracy", *COMPUTE]))
    wide = whole.pivot("quantity", index=["run_id", "variant", "seed"], values="value")
    fixed = wide.filter(pl.col("variant").str.contains(FIXED))
    for one in whole.filter(~pl.col("variant").str.contains(FIXED), quantity="accuracy").iter_rows(named=True):
        for compute in COMPUTE:
            spent = wide.filter(run_id=one["run_id"])[compute].item()
            curve = fixed.filter(seed=one["seed"]).select(compute, "accuracy").sort(compute, "accuracy").rows()
            value, reason = _above(one["value"], spent, curve)
            empty: dict[str, Any] = dict.fromkeys(("low", "high", "null_low", "null_high"))
            named = {"quantity": "above_fixed", "subset": compute, "unit": "difference of shares"}
            yield {**one, **empty, **named, "value": value, "reason": reason}


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
