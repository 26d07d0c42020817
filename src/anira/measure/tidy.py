"""The tidy table: one row per estimate, and nothing else between statistics and pages.

    run_id                       policy   seed  knob  subset  quantity  value  low   high  n     unit
    words-anira-o-cpu/1f2e-s0    anira-o     0     3  all     accuracy  0.98   0.97  0.99  1000  share of instances
    words-anira-o-cpu/1f2e-s0    anira-o     0  null  answer  depth     2.31   2.30  2.33  9000  iterations
    words-fixed-cpu/77aa-s0      fixed       0  null  all     slope     null   null  null  9000  iterations per ...

A row whose `knob` is null is about all knobs of its split. An estimate that cannot be made has a null value and a
`reason`; a value may have a reason too, which is then a caveat.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import polars as pl

from anira.measure.quantities import quantity
from anira.measure.statistics.estimates import Estimate
from anira.measure.statistics.nulls import Null

SCHEMA: Final[dict[str, Any]] = {
    "run_id": pl.String,
    "task": pl.String,
    "subtask": pl.String,
    "variant": pl.String,
    "policy": pl.String,
    "seed": pl.Int64,
    "step": pl.Int64,
    "select": pl.String,
    "threshold": pl.Float64,
    "decode": pl.String,
    "split": pl.String,
    "knob": pl.Int64,
    "subset": pl.String,
    "quantity": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "null_low": pl.Float64,
    "null_high": pl.Float64,
    "n": pl.Int64,
    "unit": pl.String,
    "reason": pl.String,
}
"""The columns, in their order."""
Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Labels:
    """Whose estimates they are: the same for all rows of an evaluation."""

    run_id: str
    task: str
    subtask: str
    variant: str
    policy: str
    seed: int
    step: int
    select: str
    threshold: float | None
    decode: str


def make_row(  # noqa: PLR0913 (a row has these columns)
    labels: Labels,
    name: str,
    estimate: Estimate,
    *,
    n: int,
    split: str = "seen",
    knob: int | None = None,
    subset: str = "all",
    null: Null | None = None,
    reason: str = "",
) -> Row:
    """Return one row of the tidy table; `reason` is a caveat beside the estimate's own."""
    return {
        **asdict(labels),
        "split": split,
        "knob": knob,
        "subset": subset,
        "quantity": name,
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "null_low": None if null is None else null.low,
        "null_high": None if null is None else null.high,
        "n": n,
        "unit": quantity(name).unit,
        "reason": joined(estimate.reason, reason),
    }


def estimate(row: Row) -> Estimate:
    """Return a row's estimate."""
    return Estimate(row["value"], row["low"], row["high"], row["reason"])


def labels_of(row: Mapping[str, Any]) -> Labels:
    """Return whose estimate a row is."""
    return Labels(**{name: row[name] for name in Labels.__dataclass_fields__})


def joined(*reasons: str) -> str:
    """Return reasons as one text, each once.

    >>> joined("the depth is constant", "", "one seed", "one seed")
    'the depth is constant; one seed'
    """
    return "; ".join(dict.fromkeys(reason for reason in reasons if reason))


def make_table(rows: Iterable[Row]) -> pl.DataFrame:
    """Return rows as a table with exactly the columns above."""
    return pl.DataFrame(list(rows), schema=SCHEMA, orient="row")


def find(
    table: pl.DataFrame,
    quantity: str,
    *,
    knob: int | None = None,
    subset: str = "all",
    split: str | None = None,
    **labels: Any,
) -> Row:
    """Return the one estimate that is asked for; where a table has none, a row without value and quantity.

    Without a knob and a split it is that over the knobs of training, or over all where none is of training; or that
    at the one knob that the quantity is about, such as the hardest.
    """
    same = [pl.col(name).is_null() if value is None else pl.col(name) == value for name, value in labels.items()]
    rows = table.filter(*same, quantity=quantity, subset=subset)
    found = rows.filter(pl.col("knob").eq_missing(pl.lit(knob, pl.Int64)))
    if knob is None and found.is_empty() and len(rows) == 1:
        found = rows
    if split is not None:
        found = found.filter(split=split)
    found = found.sort(pl.col("split") == "all", maintain_order=True)
    return found.row(0, named=True) if len(found) else {**dict.fromkeys(SCHEMA), "n": 0, "reason": ""}
