"""One page engine: title, answer, sections of charts and tables, notes. Text is escaped; nothing given is markup."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Final, Literal

import altair as alt
import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from anira.config import json_text, printable
from anira.site.style import themed


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
            specs=_in_script(json_text(specs)),
            token_script=_file("tokens.js"),
            views=_in_script(json_text(_plain(views))) if views else "",
        )
    )
    return html.strip() + "\n"


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("anira.site"),
        autoescape=True,
        finalize=_printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.tests["chart"] = lambda part: isinstance(part, ChartPart)
    made.tests["tokens"] = lambda part: isinstance(part, TokensPart)
    return made


def _printable(value: Any) -> Any:
    # Without this, names from elsewhere could turn the direction in which the page around them reads.
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _plain(value: Any) -> Any:
    """Return nested data with every text printable."""
    if isinstance(value, Mapping):
        return {printable(str(name)): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return printable(value) if isinstance(value, str) else value


def _in_script(text: str) -> Markup:
    """Return JSON so that no text in it can end the element around it.

    >>> print(_in_script('"</script>"'))
    "\\u003c/script>"
    """
    return Markup(text.replace("<", "\\u003c"))


def _file(name: str) -> Markup:
    return Markup(resources.files("anira.site").joinpath("templates", name).read_text())


@cache
def _library() -> Markup:
    """Return the scripts that draw charts: 0.9 MB, which vl-convert brings along, so that a page needs no network."""
    bundle: str = vl_convert.javascript_bundle()  # type: ignore[call-arg] # the stub has no default
    assert "</script" not in bundle.lower()
    return Markup(bundle)
