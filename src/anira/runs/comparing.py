"""Two runs, compared knob by knob."""

from dataclasses import dataclass
from pathlib import Path
from typing import final

import polars as pl

from anira.config import layout
from anira.measure.paired import paired_table
from anira.measure.records.reading import Records, read_runs
from anira.site.side_by_side import side_by_side


@final
@dataclass(frozen=True)
class Comparison:
    """Accuracy and answer depth of two runs by knob, and how far the second one is from the first."""

    table: pl.DataFrame
    """subtask, split, knob, quantity, first, second, difference, low, high, n, paired: one row per knob and quantity.
    The 95% interval of the difference is over instances, paired where both runs have the same."""
    names: tuple[str, str]
    knob: str

    def __repr__(self) -> str:
        head = ["subtask", self.knob, "quantity", *self.names, "difference", "95% interval", "n"]
        rows = [_line(row) for row in self.table.iter_rows(named=True)]
        first = 0 if any(row[0] for row in rows) else 1
        return layout(head[first:], [row[first:] for row in rows])

    def _repr_html_(self) -> str:
        return side_by_side(self.table, self.names, self.knob)


def compare_runs(first: Path, second: Path, names: tuple[str, str], knob: str) -> Comparison:
    """Compare the main evaluations of two run folders."""
    if names[0] == names[1]:
        names = (f"{names[0]} ({first.name})", f"{names[1]} ({second.name})")
    return Comparison(paired_table(_main(first), _main(second)), names, knob)


def _main(run: Path) -> list[Records]:
    return [one.main for one in read_runs(run)]


def _line(row: dict[str, object]) -> list[str]:
    ends = "" if row["low"] is None else f"[{row['low']:+.3f}, {row['high']:+.3f}]"
    values = [f"{row[name]:.3f}" for name in ("first", "second")]
    knob, difference = str(row["knob"]), f"{row['difference']:+.3f}"
    return [str(row["subtask"]), knob, str(row["quantity"]), *values, difference, ends, str(row["n"])]
