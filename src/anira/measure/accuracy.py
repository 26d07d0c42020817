"""How often answers are right, with Wilson intervals, beside what the most common answer would give."""

from dataclasses import dataclass
from typing import Any

import polars as pl

from anira.measure.statistics.estimates import Estimate, proportion, proportion_difference

_HELD_OUT = "meta_held_out"


@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """Accuracy at one knob, or over several (`knob` is None)."""

    knob: int | None
    split: str
    instances: int
    exact: Estimate
    """Share of answers that are right token by token."""
    lenient: Estimate
    """Share of answers that are right under the task's lenient rule."""
    majority: float
    """Share of the knob's most common true answer, counted on the same instances: a little high where they are few."""
    above_majority: bool
    """Whether the whole interval of `exact` lies above `majority`."""
    seen_in_training: float | None
    """Share of instances that training has seen, where it was looked up."""
    held_out: Estimate | None = None
    """Share of right answers among the instances that were held out of training, where some were."""


def accuracy_by_knob(table: pl.DataFrame) -> list[Accuracy]:
    """Return one row a knob."""
    counts = table.group_by("knob", maintain_order=True).agg(
        pl.col("split").first(), *_counts(table), pl.col("answer").unique_counts().max().alias("majority")
    )
    return [_accuracy(row["knob"], row["split"], row) for row in counts.iter_rows(named=True)]


def accuracy_overall(table: pl.DataFrame, *, seen_only: bool = False) -> Accuracy:
    """Return accuracy over all knobs, or over those that training rows have.

    The majority baseline knows the knob: it answers each with that knob's most common answer.
    """
    chosen = table.filter(pl.col("split") == "seen") if seen_only else table
    majority = chosen.group_by("knob").agg(pl.col("answer").unique_counts().max())["answer"].sum()
    return _accuracy(
        None, "seen" if seen_only else "", {**chosen.select(_counts(table)).row(0, named=True), "majority": majority}
    )


def accuracy_drop(one: Accuracy, other: Accuracy) -> Estimate:
    """Return how much lower the second accuracy is, measured on other instances than the first; Newcombe's interval."""
    first, second = ((num_right(row.exact, row.instances), row.instances) for row in (one, other))
    return proportion_difference(first, second)


def num_right(share: Estimate, count: int) -> int:
    """Return how many instances a share of them is."""
    return round((share.value or 0.0) * count)


def _counts(table: pl.DataFrame) -> list[pl.Expr]:
    columns = [pl.col("correct").sum(), pl.col("lenient_correct").sum(), pl.col("seen_in_training").mean()]
    if _HELD_OUT in table.columns:
        held_out = pl.col(_HELD_OUT) == 1
        columns += [held_out.sum().alias("held_out"), (held_out & pl.col("correct")).sum().alias("held_out_right")]
    return [pl.len().alias("instances"), *columns]


def _accuracy(knob: int | None, split: str, row: dict[str, Any]) -> Accuracy:
    count = int(row["instances"])
    exact, majority = proportion(int(row["correct"]), count), row["majority"] / max(count, 1)
    return Accuracy(
        knob=knob,
        split=split,
        instances=count,
        exact=exact,
        lenient=proportion(int(row["lenient_correct"]), count),
        majority=majority,
        above_majority=exact.low is not None and exact.low > majority,
        seen_in_training=row["seen_in_training"],
        held_out=proportion(row["held_out_right"], row["held_out"]) if row.get("held_out") else None,
    )
