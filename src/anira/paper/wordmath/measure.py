"""What is read from the runs: the tidy table, and what the plan's rule says about it.

The rule was written down before the runs (plans/p8-wordmath.toml). Depth follows the number of clauses if the slope of
mean answer depth over the clauses of training has a 95% t interval over seeds above zero, and is at least 0.1
iterations per clause. Depth is needed if a model trained at depth 1 loses at least ten points at the most clauses.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import polars as pl

from anira.measure import FEWEST, NEED, measure, over_seeds
from anira.measure.tidy import Row, find
from anira.paper.wordmath.runs import FIXED, SHALLOW

SLOPE: Final = 0.1
"""Iterations per clause: the smallest slope of interest."""
Follows = Literal["follows", "does not follow", "unknown"]


@dataclass(frozen=True)
class Found:
    """One form of the answer in numbers."""

    form: str
    runs: pl.DataFrame
    """The tidy table."""
    seeds: pl.DataFrame
    """The same over seeds."""

    def row(self, variant: str, quantity: str, knob: int | None = None, subset: str = "all") -> Row:
        """Return an estimate over seeds, at a number of clauses or over those of training."""
        return find(self.seeds, quantity, knob=knob, subset=subset, variant=variant)

    @property
    def clauses(self) -> list[int]:
        """The numbers of clauses, those beyond training too."""
        return self.seeds["knob"].drop_nulls().unique().sort().to_list()

    @property
    def hardest(self) -> int:
        """The most clauses of training."""
        return int(self.seeds.filter(split="seen")["knob"].max())  # type: ignore[arg-type]

    @property
    def gain(self) -> float | None:
        """Accuracy at the most clauses of training: full depth less depth 1, both trained so."""
        deep, shallow = (self.row(name, "accuracy", self.hardest)["value"] for name in (FIXED, SHALLOW))
        return None if deep is None or shallow is None else deep - shallow

    @property
    def needed(self) -> bool:
        """Whether depth is needed."""
        return self.gain is not None and self.gain >= NEED - 1e-9

    def follows(self, variant: str) -> Follows:
        """Say whether depth follows the number of clauses; constant depth does not."""
        row, depth = self.row(variant, "slope"), self.row(variant, "depth", None, "answer")
        if depth["n"] < FEWEST:
            return "unknown"
        if row["value"] is None or row["low"] is None:
            return "does not follow"
        return "follows" if row["low"] > 0 and row["value"] >= SLOPE else "does not follow"


def measured(
    form: str, folders: Mapping[str, Sequence[Path]], labels: Mapping[str, str], *, draws: int = 1000
) -> Found:
    """Measure the runs of one form; `folders` has the evaluations of each run, `labels` its line, by run id."""
    table = measure([folder for one in folders.values() for folder in one], draws=draws)
    table = table.with_columns(pl.lit(form).alias("task"), pl.col("run_id").replace_strict(labels).alias("variant"))
    return Found(form, table, over_seeds(table))
