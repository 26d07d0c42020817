"""What a task whose training sizes leave gaps loses at sizes between them and beyond them: accuracy over each split.

sizes of training    4  5     7        10
split                s  s  i  s  i  i  s  e  e     s: seen, i: interpolation, e: extrapolation
"""

from collections.abc import Iterator
from typing import Final

import polars as pl

from anira.measure.statistics.estimates import Estimate, proportion, proportion_difference
from anira.measure.tidy import Row, labels_of, make_row

UNSEEN: Final = {"interpolation": "between the seen sizes", "extrapolation": "beyond the seen sizes"}
"""Split -> where its sizes lie."""


def unseen_rows(table: pl.DataFrame) -> Iterator[Row]:
    """Yield accuracy over the sizes of each unseen split, and how much lower it is than over the seen ones."""
    accuracy = table.filter(quantity="accuracy").drop_nulls("knob")
    for _, part in accuracy.group_by("run_id", "subtask", maintain_order=True):
        own = labels_of(part.row(0, named=True))
        counts = {split: _right(rows) for (split,), rows in part.group_by("split")}
        for split in UNSEEN:
            if split not in counts or "seen" not in counts:
                missing = Estimate(None, reason=f"no size {UNSEEN[split]} was evaluated")
                yield make_row(own, "drop_unseen", missing, n=0, split=split)
                continue
            n = counts[split][1]
            yield make_row(own, "accuracy", proportion(*counts[split]), n=n, split=split)
            # The instances are different ones: Newcombe's interval.
            drop = proportion_difference(counts["seen"], counts[split])
            yield make_row(own, "drop_unseen", drop, n=n, split=split)


def _right(rows: pl.DataFrame) -> tuple[int, int]:
    """Return how many instances were answered right, and how many there are."""
    right = (rows["value"] * rows["n"]).round().sum()
    return int(right), int(rows["n"].sum())
