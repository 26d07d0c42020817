"""Tables of pages from rows of the tidy table: a line for each subject, a column for each quantity."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import polars as pl

from anira.config import layout
from anira.measure import quantity
from anira.measure.quantities import POINTS
from anira.measure.tidy import Row, find
from anira.site.page import Cell, Page, TablePart, table_part
from anira.site.values import amount, interval

_NARROW: Final = 8  # columns


MEANS: Final = "Means over seeds with 95% t intervals."
Labels = Mapping[str, Any]
"""By which rows of the tidy table are found."""


class Column(NamedTuple):
    """A quantity in a table, and its heading there."""

    quantity: str
    title: str
    subset: str = "all"
    split: str | None = None
    small: str = ""
    """A second line of the heading; points and nats are named without it."""
    null: bool = False
    """Whether it shows the range that shuffled records give instead of the value."""
    labels: Labels | None = None
    """What else its rows are found by."""
    digits: int | None = None

    @property
    def head(self) -> Cell:
        """The heading, which explains itself on pointing at it."""
        unit = quantity(self.quantity)
        units = {POINTS: "points", "nats": "nats"}.get(unit.unit, "")
        return Cell(self.title, self.small if self.small or self.null else units, "" if self.null else unit.sentence)

    def cell(self, table: pl.DataFrame, labels: Labels) -> Cell:
        """Return what a table has under these labels, which may also set knob, quantity, subset, split and null."""
        asked = {"subset": self.subset, "split": self.split, **(self.labels or {}), **labels}
        is_null = asked.pop("null", self.null)
        row = find(table, asked.pop("quantity", self.quantity), **asked)
        return null_cell(row) if is_null else estimate_cell(row, self.digits)


def capital(text: str) -> str:
    """Return a text with a capital first letter, the others as they are."""
    return text[:1].upper() + text[1:]


def estimate_cell(row: Row, digits: int | None = None) -> Cell:
    """Return an estimate with its interval; where it is undefined, why; a dash where there is none."""
    if row["quantity"] is None:
        return Cell("-")
    if row["value"] is None:
        return Cell("undefined", "", row["reason"])
    unit = quantity(row["quantity"])
    text = amount(row["value"], unit) if digits is None else f"{row['value']:z.{digits}f}"
    return Cell(text, interval(row["low"], row["high"], unit), row["reason"])


def estimate_text(row: Row) -> str:
    """Write an estimate with its interval, if it has one, for a sentence."""
    cell = estimate_cell(row)
    return f"{cell.text} {cell.small}".strip()


def null_cell(row: Row) -> Cell:
    """Return the range that shuffled records give."""
    if row["null_low"] is None:
        return Cell("-")
    return Cell(interval(row["null_low"], row["null_high"], quantity(row["quantity"])))


def estimate_table(
    table: pl.DataFrame,
    subjects: Mapping[Any, Labels],
    columns: Sequence[Column],
    *,
    title: str,
    first: str | Sequence[str] = "model",
    caption: str = "",
    more: Callable[[Labels], Sequence[object]] | None = None,
    heads: Sequence[object] = (),
) -> TablePart:
    """Return a line for each subject: its name (or several cells), and the labels by which its rows are found.

    `first` heads the names; `more` gives further cells of a subject under `heads`.
    """
    rows = [
        [*_several(name), *(column.cell(table, labels) for column in columns), *(more(labels) if more else ())]
        for name, labels in subjects.items()
    ]
    return table_part(title, [*_several(first), *(one.head for one in columns), *heads], rows, caption=caption)


def _several(names: Any) -> Sequence[object]:
    return [names] if isinstance(names, str | Cell) else names


def plain_table(table: TablePart) -> str:
    """Return a table for a terminal; intervals stand behind their values, unless it is too wide for them."""
    narrow = len(table.head) <= _NARROW
    lines = [[f"{cell.text} {cell.small * narrow}".strip() for cell in row] for row in (table.head, *table.rows)]
    return layout(lines[0], lines[1:])


def page_text(page: Page, *, every: bool = False) -> str:
    """Return what a page says for a terminal: its answer, each verdict, and the tables that are unfolded, or all."""
    said = [f"{note.head}: {note.text}" for note in page.verdicts]
    unfolded = [one for i, one in enumerate(page.sections) if i == 0 or one.open or every]
    parts = [part for section in unfolded for part in section.parts]
    tables = [f"{part.title}\n{plain_table(part)}" for part in parts if isinstance(part, TablePart)]
    blocks = ["\n".join([f"{page.title}\n{page.badge.words.capitalize()}.", *page.answer]), "\n".join(said), *tables]
    return "\n\n".join(filter(None, blocks))
