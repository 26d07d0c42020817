"""Pages from the tidy table: one engine for all of them.

    badge = Badge("1 of 2 earns its depth", "yes")
    page = Page(title="Who earns its depth?", badge=badge, answer=["anira-o does."], sections=[...])
    Path("page.html").write_text(render(page), encoding="utf-8")

A page says its answer first. Charts are Altair's, tables are pivots. The file needs no network and no other file.
"""

from anira.site.page import (
    SMOKE,
    Badge,
    Cell,
    ChartPart,
    Note,
    Page,
    Section,
    TablePart,
    TokensPart,
    Tone,
    read_notes,
    render,
    table_part,
)
from anira.site.values import amount, interval

__all__ = [
    "SMOKE",
    "Badge",
    "Cell",
    "ChartPart",
    "Note",
    "Page",
    "Section",
    "TablePart",
    "TokensPart",
    "Tone",
    "amount",
    "interval",
    "read_notes",
    "render",
    "table_part",
]
