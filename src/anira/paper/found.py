"""What a figure is made of: the tidy table of its runs, the same over seeds, and the claims that it judges."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from anira.measure import measure, over_seeds
from anira.measure.claims.verdict import Claim
from anira.measure.tidy import Row, find
from anira.site.tables import estimate_cell
from anira.site.verdicts import shown


@dataclass(frozen=True)
class Found:
    """A figure in numbers."""

    runs: pl.DataFrame
    """The tidy table."""
    seeds: pl.DataFrame
    """The same over seeds."""
    claims: Mapping[str, Sequence[Claim]] = field(default_factory=dict)
    """By their key among the paper's claims."""
    words: Mapping[str, str] = field(default_factory=dict)
    """What the page says that is in no row, such as what each task calls its knob."""

    @property
    def both(self) -> pl.DataFrame:
        """The rows over seeds, then those of each."""
        return pl.concat([self.seeds, self.runs])

    @property
    def task(self) -> str:
        """The task of all rows, where they have one."""
        return str(self.seeds["task"][0])

    def part(self, **labels: Any) -> "Found":
        """Return the rows with these labels."""
        return replace(self, runs=self.runs.filter(**labels), seeds=self.seeds.filter(**labels))

    def row(self, quantity: str, **labels: Any) -> Row:
        """Return one estimate over seeds; where there is none its value is None."""
        return find(self.seeds, quantity, **labels)

    def each(self, *places: tuple[str, str]) -> str:
        """Write estimates, by quantity and subset, of each of the paper's variants: `ANIRA-E 3% and 5%; ...`."""
        values = {
            name: [estimate_cell(self.row(what, subset=subset, **labels)).text for what, subset in places]
            for name, labels in shown(self.seeds).items()
        }
        return "; ".join(f"{name} {' and '.join(own)}" for name, own in values.items())

    def tables(self, name: str) -> dict[str, pl.DataFrame]:
        """Return the tables that a page has beside it, by the names of their files."""
        return {f"{name}.csv": self.runs, f"{name}-seeds.csv": self.seeds}


def trained_need(found: Found) -> tuple[float | None, str]:
    """Return what models trained at depth 1 lose at the hardest knob against full depth, and both accuracies in words.

    Nothing where there are no such models.
    """
    shallow, deep = (found.row("accuracy_hardest", variant=name) for name in ("fixed-1", "fixed"))
    if shallow["value"] is None or deep["value"] is None:
        return None, ""
    right = [estimate_cell(row).text for row in (shallow, deep)]
    said = f"models trained at depth 1 get {right[0]} right, and models trained at full depth {right[1]}"
    return deep["value"] - shallow["value"], said


def found_in(table: pl.DataFrame, claims: Mapping[str, Sequence[Claim]] | None = None, **words: str) -> Found:
    """Return a tidy table with what it says over seeds."""
    return Found(table, over_seeds(table), claims or {}, words)


def measure_labelled(
    task: str, folders: Mapping[str, Sequence[Path]], labels: Mapping[str, str], *, draws: int
) -> pl.DataFrame:
    """Measure the evaluations of each run; `labels` has what each is called in the table, by run id."""
    table = measure([folder for own in folders.values() for folder in own], draws=draws)
    return table.with_columns(pl.lit(task).alias("task"), pl.col("run_id").replace_strict(labels).alias("variant"))
