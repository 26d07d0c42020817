"""From a matplotlib figure to SVG that can stand inside a page: text stays text, colours follow the page."""

import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from anira.config import printable
from anira.site.drawing.style import FAINT, INK, SOFT, css_of

_UNITS_PER_INCH = 72  # matplotlib's own for SVG: one unit of the drawing is one pixel at full size

_SETTINGS: Any = {
    "svg.fonttype": "none",
    "text.parse_math": False,  # a $ in a name is a $
    "font.size": 11,
    "text.color": INK,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "grid.color": FAINT,
    "grid.linewidth": 0.8,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.major.size": 3,
    "ytick.major.size": 0,
    "lines.linewidth": 1.8,
    "lines.markersize": 6,
}


def draw(name: str, description: str, size: tuple[int, int], paint: Callable[[Figure], None]) -> str:
    """Return the SVG of what `paint` draws on an empty figure of `size` pixels.

    `name` keeps the ids inside apart from those of the page's other figures; `description` is read to those who
    cannot see it. The same drawing gives the same bytes.
    """
    with _settings(name):
        figure = Figure(figsize=(size[0] / _UNITS_PER_INCH, size[1] / _UNITS_PER_INCH))
        paint(figure)
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return css_of(_inline(printable(file.getvalue()), printable(description)))


@contextmanager
def _settings(name: str) -> Iterator[None]:
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # it is the browser that has to know the glyph
        mpl.rcdefaults()  # whatever the user's own matplotlibrc says, the page looks the same
        mpl.rcParams.update({**_SETTINGS, "svg.hashsalt": name})
        yield


def _inline(svg: str, description: str) -> str:
    """Strip what only a file of its own needs, and let the page decide on size and font."""
    head, _, body = svg[svg.index("<svg") :].partition(">")
    (box,) = re.findall(r'viewBox="[^"]*"', head)
    body = re.sub(r"<style\b.*?</style>", "", body, flags=re.DOTALL)
    body = re.sub(r"<!--.*?-->", "", body, flags=re.DOTALL)
    body = re.sub(r'<g id="[^"]*"', "<g", body).replace("<g/>", "")  # figure_1, axes_1: every figure has the same
    body = re.sub(r"font-family: [^;\"<]*;? ?", "", body)
    body = re.sub(r"\s*\n\s*", "\n", body).replace("xlink:href", "href")
    return f'<svg {box} role="img" aria-label="{escape(description)}">{body}'.strip()
