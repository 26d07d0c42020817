"""The index page of a folder of experiments: what was made there, and what it shows."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from anira.config import write_file
from anira.paper.figures import EXPERIMENTS
from anira.paper.stored import read_stored
from anira.site.sheet.sheet import Section, Sheet, Table, sheet_page


def write_index(out: Path) -> Path:
    """Write index.html with a line for every experiment that was made in the folder; return its path."""
    rows = [_line(out, name, found) for name in EXPERIMENTS if (found := read_stored(out, name))]
    sheet = Sheet(name="index", title="The paper, experiment by experiment", runs=[], sections=[_section(rows)])
    write_file(out / "index.html", sheet_page(sheet))
    return out / "index.html"


def _section(rows: list[dict[str, str]]) -> Section:
    absent = [name for name in EXPERIMENTS if name not in {Markup(row["experiment"]).striptags() for row in rows}]
    missing = f"Not made here yet: {', '.join(absent)} (anira reproduce NAME)." if absent else ""
    return Section(title="Pages", tables=[Table("all pages", rows)], below=missing)


def _line(out: Path, name: str, found: Mapping[str, Any]) -> dict[str, str]:
    tables = sorted(path.name for path in out.glob(f"{name}*.csv"))
    return {
        "experiment": _link(f"{name}.html", name),
        "what it shows": EXPERIMENTS[name].summary,
        "scale": found["scale"],
        "runs": str(len(found["runs"])),
        "numbers": Markup(", ").join(_link(file, file) for file in (*tables, f"{name}.json")),
    }


def _link(target: str, text: str) -> Markup:
    return Markup('<a href="{}">{}</a>').format(quote(target), text)
