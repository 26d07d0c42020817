"""The index page of a folder: what was made there, what it shows, and where its numbers are."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anira.config import write_file
from anira.paper.claims.make import NAME as CLAIMS
from anira.paper.figures import FIGURES
from anira.paper.stored import read_stored
from anira.site import Badge, Cell, Page, Section, render, table_part


def write_index(out: Path) -> Path:
    """Write index.html with a line for every page that was made in the folder; return its path."""
    made = {name: found for name in FIGURES if (found := read_stored(out, name))}
    absent = [name for name in FIGURES if name not in made]
    rows = [_line(out, name, found) for name, found in made.items()]
    head = ["page", "what it shows", "verdict", "in the paper", "scale", "runs", "numbers"]
    missing = [f"Not made here yet: {', '.join(absent)} (anira reproduce NAME)."] if absent else []
    first = [f"Begin with {CLAIMS}: each claim of the paper and its verdict."] if CLAIMS in made else []
    page = Page(
        title="Does depth follow required work? All pages",
        badge=Badge(f"{len(made)} of {len(FIGURES)} pages made", "open"),
        answer=[*first, *missing],
        sections=[Section(title="Pages", parts=[table_part("Made here", head, rows)])],
        home="",
    )
    path = out / "index.html"
    write_file(path, render(page))
    return path


def _line(out: Path, name: str, found: Mapping[str, Any]) -> list[object]:
    numbers = f"{name}.csv" if (out / f"{name}.csv").exists() else f"{name}.json"
    return [
        Cell(name, link=f"{name}.html"),
        Cell(FIGURES[name].summary, wrap=True),
        Cell(str(found.get("badge", "-")), wrap=True),
        FIGURES[name].place or "-",
        found["scale"],
        len(found["runs"]),
        Cell(numbers, link=numbers),
    ]
