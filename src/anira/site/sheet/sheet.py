"""The page of an experiment: the runs it rests on, sections of figures and tables, and what they mean.

    sheet = Sheet(
        name="allocation",
        title="Does depth follow difficulty?",
        runs=[{"label": "anira-e", "step": "9,000", "run": "mano-anira-e-cpu/e17fa013-s0 (found)"}],
        sections=[Section(title="MANO", looks=looks, panels=[svg], tables=[Table("MANO by L", rows)])],
    )
    sheet_page(sheet)     # HTML that needs nothing else
    sheet_text(sheet)     # the same tables in plain text

What all pages share is in templates/sheet.html. What an experiment says in words, its lead and its notes, is in a
template of its own, named like the sheet, that fills two blocks of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from anira.config import printable
from anira.site.drawing.style import Style, legend
from anira.site.values import layout

Cells = Mapping[str, str]
"""A row of a table: column -> what stands there; Markup stays as it is, anything else is escaped."""


class Table(NamedTuple):
    """Rows as they are shown; all have the same columns."""

    label: str
    rows: Sequence[Cells]
    folded: bool = False
    """Behind a line to click on, and left out of the plain text: numbers that a figure shows already."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of the page, from its title to the line below its tables; what is empty is left out."""

    title: str
    text: Sequence[str] = ()
    """Paragraphs before the figures."""
    looks: Mapping[str, Style] = field(default_factory=dict)
    """How the runs in the figures look, by label."""
    panels: Sequence[str] = ()
    """Figures as SVG, side by side where there is room."""
    tables: Sequence[Table] = ()
    below: str = ""
    """A quiet line that says how to read the section."""

    @property
    def legend(self) -> dict[str, Style]:
        """An entry for each experiment among the runs."""
        return legend(self.looks)

    @property
    def figures(self) -> list[Markup]:
        """The panels, as the page takes them."""
        return [Markup(panel) for panel in self.panels]


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """A whole page."""

    name: str
    """That of the experiment, of its files, and of its template."""
    title: str
    runs: Sequence[Cells]
    """What there is to know about each run: its label, then the same columns for all."""
    sections: Sequence[Section]


def sheet_page(sheet: Sheet) -> str:
    """Return one self-contained page; the same figures give the same bytes."""
    return environment().get_template(f"{sheet.name}.html").render(page=sheet).strip() + "\n"


def sheet_text(sheet: Sheet) -> str:
    """Return the tables that are not folded as plain text, under the titles of their sections."""
    blocks = []
    for section in sheet.sections:
        shown = [layout(list(table.rows[0]), _cells(table)) for table in section.tables if _in_text(table)]
        blocks += ["\n\n".join([section.title, *section.text, *shown])] if shown or section.text else []
    return "\n\n".join(blocks)


def _in_text(table: Table) -> bool:
    return bool(table.rows) and not table.folded


def _cells(table: Table) -> list[list[str]]:
    return [
        [Markup(value).striptags() if isinstance(value, Markup) else value for value in row.values()]
        for row in table.rows
    ]


@cache
def environment() -> Environment:
    """Return what fills templates: everything is escaped and printable, and a name that is missing is an error."""
    return Environment(
        loader=PackageLoader("anira.site.report"),
        autoescape=True,
        finalize=_printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _printable(value: Any) -> Any:
    # Without this, names from elsewhere could turn the direction in which the page around them reads.
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value
