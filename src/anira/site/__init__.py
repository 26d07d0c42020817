"""Pages from the tidy table: one engine for all of them.

    page = Page(title="Policies on words", answer=["anira-o earns its depth."], sections=[...])
    write_page(Path("policies-words.html"), page, {"policies-words.csv": table})

A page says its answer first. Charts are Altair's, tables are pivots. The file needs no network and no other file.
"""

from anira.site.page import Cell, ChartPart, Note, Page, Section, TablePart, read_notes, render, write_page
from anira.site.values import amount, interval

__all__ = [
    "Cell",
    "ChartPart",
    "Note",
    "Page",
    "Section",
    "TablePart",
    "amount",
    "interval",
    "read_notes",
    "render",
    "write_page",
]
