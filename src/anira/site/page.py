"""One page engine: title, answer, sections of charts and tables, notes. Text is escaped; nothing given is markup."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Final, Literal

import altair as alt
import vl_convert
from jinja2 import Environment
from markupsafe import Markup

from anira.config import json_text
from anira.site.html import data_script, environment, in_script, template_file
from anira.site.style import themed

_PACKAGE: Final = "anira.site"


@dataclass(frozen=True, kw_only=True)
class ChartPart:
    """A chart with its title, what to look for in it, and a sentence for those who cannot see it."""

    name: str
    """A word that no other chart of the page has."""
    title: str
    chart: alt.TopLevelMixin
    caption: str = ""


@dataclass(frozen=True)
class Cell:
    """What stands in a table: a text, a smaller one below it, a remark that shows on pointing at it, and a link.

    A text of several words may `wrap`; numbers never do.
    """

    text: str
    small: str = ""
    remark: str = ""
    link: str = ""
    wrap: bool = False


@dataclass(frozen=True, kw_only=True)
class TablePart:
    """A table: its first column names the rows."""

    title: str
    head: Sequence[Cell]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""


def table_part(title: str, head: Iterable[object], rows: Iterable[Iterable[object]], *, caption: str = "") -> TablePart:
    """Return a table; what is no cell yet becomes one with its text."""
    lines = [[one if isinstance(one, Cell) else Cell(str(one)) for one in line] for line in (head, *rows)]
    return TablePart(title=title, head=lines[0], rows=lines[1:], caption=caption)


@dataclass(frozen=True, kw_only=True)
class TokensPart:
    """Instances token by token, of which a reader picks one; `data` is what the page's script reads (tokens.py)."""

    name: str
    """A word that no other view of the page has."""
    title: str
    data: Mapping[str, Any]


Part = ChartPart | TablePart | TokensPart


@dataclass(frozen=True)
class Note:
    """A remark with a few words in front that say what it is about."""

    head: str
    text: str


Tone = Literal["yes", "no", "open"]
SMOKE: Final = "These are smoke runs: they have learned nothing, and their numbers mean nothing."


@dataclass(frozen=True)
class Badge:
    """The verdict of a page in a few words, and how it is coloured."""

    words: str
    tone: Tone


@dataclass(frozen=True, kw_only=True)
class Section:
    """A heading, sentences, and what belongs to them."""

    title: str
    text: Sequence[str] = ()
    parts: Sequence[Part] = ()
    notes: Sequence[Note] = ()
    open: bool = False
    """Whether it is unfolded from the start, as the first one of a page always is."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page: question, verdict, answer and one chart stand at its top; everything else folds."""

    title: str
    """The question."""
    badge: Badge
    answer: Sequence[str]
    """Sentences that a reader who stops here should have read, the first of them above all."""
    lead: ChartPart | None = None
    """The chart that shows the answer."""
    verdicts: Sequence[Note] = ()
    """One for each subject of the page."""
    sections: Sequence[Section]
    command: str = ""
    """What makes the page again."""
    files: Sequence[str] = field(default_factory=tuple)
    """Names of the tables beside the page."""
    place: str = ""
    """Where the paper has it, such as Figure 2."""
    home: str = "index.html"
    """The page of all pages beside this one; empty for itself."""


def read_notes(package: str) -> list[Note]:
    """Return the notes of a package's notes.md: what stands before the first colon of a line is their head."""
    text = resources.files(package).joinpath("notes.md").read_text()
    pairs = [line[2:].partition(": ") for line in text.splitlines() if line.startswith("- ")]
    return [Note(head, rest[:1].upper() + rest[1:]) for head, _, rest in pairs]


def render(page: Page) -> str:
    """Return a page as HTML that needs nothing else."""
    parts = [part for section in page.sections for part in section.parts]
    charts = [part for part in (page.lead, *parts) if isinstance(part, ChartPart)]
    specs = {part.name: themed(part.chart) for part in charts}
    views = {part.name: dict(part.data) for part in parts if isinstance(part, TokensPart)}
    if len(specs) < len(charts):
        raise ValueError("two charts of a page have the same name")
    html = (
        _environment()
        .get_template("page.html")
        .render(
            page=page,
            style=_file("style.css"),
            script=_file("page.js"),
            library=_library() if charts else "",
            specs=in_script(json_text(specs)),
            token_script=_file("strips.js") + _file("tokens.js"),
            views=data_script(views) if views else "",
        )
    )
    return html.strip() + "\n"


@cache
def _environment() -> Environment:
    made = environment(_PACKAGE)
    made.tests["chart"] = lambda part: isinstance(part, ChartPart)
    made.tests["tokens"] = lambda part: isinstance(part, TokensPart)
    return made


def _file(name: str) -> Markup:
    return template_file(_PACKAGE, name)


@cache
def _library() -> Markup:
    """Return the scripts that draw charts: 0.9 MB, which vl-convert brings along, so that a page needs no network."""
    bundle: str = vl_convert.javascript_bundle()  # type: ignore[call-arg] # the stub has no default
    assert "</script" not in bundle.lower()
    return Markup(bundle)
