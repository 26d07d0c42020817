"""SVG from boxes, lines and cells: what the committed pictures of tasks and runs are drawn with."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, Final

INK, PAPER, FAINT, STRONG = "#222222", "#ffffff", "#eef1f6", "#ffd9a8"
SHADES: Final = ("#f1f5fb", "#d3e2f4", "#a9c8e8", "#74a5d6", "#3f7fbf", "#1b5a9b")
"""From no iteration to the largest depth that is drawn."""
_FILLS: Final = {"plain": PAPER, "faint": FAINT, "strong": STRONG}
_FONT: Final = "font-family='ui-monospace, Consolas, monospace'"


def document(parts: Iterable[str], size: Sequence[float], title: str) -> str:
    """Return a whole SVG on white paper, with a title for those who cannot see it."""
    width, height = (round(one) for one in size)
    head = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' height='{height}'"
    paper = f"<rect width='{width}' height='{height}' fill='{PAPER}'/>"
    return "\n".join([f"{head} role='img'>", f"<title>{escape(title)}</title>", paper, *parts, "</svg>"]) + "\n"


def text(x: float, y: float, words: str, *, size: int = 13, anchor: str = "middle", fill: str = INK) -> str:
    """Return a text, centred on its height."""
    place = f"x='{x:g}' y='{y:g}' font-size='{size}' text-anchor='{anchor}' dominant-baseline='central' fill='{fill}'"
    return f"<text {place} {_FONT}>{escape(words)}</text>"


def box(x: float, y: float, width: float, height: float, *, fill: str, stroke: str = "#8a94a6") -> str:
    """Return a box around its middle."""
    place = f"x='{x - width / 2:g}' y='{y - height / 2:g}' width='{width:g}' height='{height:g}'"
    return f"<rect {place} rx='4' fill='{fill}' stroke='{stroke}'/>"


def line(path: str, *, stroke: str = "#8a94a6") -> str:
    """Return a line along a path."""
    return f"<path d='{path}' fill='none' stroke='{stroke}' stroke-width='1.4'/>"


def boxes(picture: dict[str, Any], title: str, margin: float = 12) -> str:
    """Return a picture of boxes and lines, as the token view of a page has it (`anira.site.pictures`)."""
    parts = [f"<g transform='translate({margin} {margin})'>", *(line(path) for path in picture["lines"])]
    for one in picture["boxes"]:
        parts.append(box(one["x"], one["y"], one["width"], 26, fill=_FILLS[one["kind"]]))
        parts.append(text(one["x"], one["y"], one["text"]))
        if one["turn"]:
            parts.append(text(one["x"] + one["width"] / 2 + 2, one["y"] - 13, one["turn"], size=10, fill="#b05000"))
    return document([*parts, "</g>"], [side + 2 * margin for side in picture["size"]], title)


def shade(depth: int, deepest: int) -> tuple[str, str]:
    """Return the colour of a depth and one that is legible on it."""
    step = round(depth / deepest * (len(SHADES) - 1))
    return SHADES[step], PAPER if step >= 4 else INK
