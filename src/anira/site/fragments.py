"""Pieces of HTML for a notebook: a strip of tokens shaded by depth, a logit lens, a chart. They need no script.

They have the style of the pages, nested in a class of their own so that it changes nothing else in the notebook. Ink
and panels follow the notebook's colours.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, Final

import altair as alt
import vl_convert
from markupsafe import Markup

from anira.config import printable
from anira.site.style import HEIGHT, themed

Token = Mapping[str, Any]
"""What the token view shows of a token (`tokens.py`): text, depth, probs, predicts, truth, and `after`, for each
iteration the likeliest tokens with their probabilities."""
LONGEST: Final = 400
"""Tokens that are drawn; the earliest ones of a longer text are left out."""
_WIDTH: Final = 460
_INK: Final = (
    "--ink: currentcolor; --faint: color-mix(in srgb, currentcolor 65%, transparent); --line: color-mix(in srgb,"
    " currentcolor 18%, transparent); --panel: color-mix(in srgb, currentcolor 7%, transparent); --paper: transparent;"
    " --good: #1a9850; --bad: #d73027; --link: #2b83ba; font: 14px/1.5 system-ui, sans-serif;"
)

_SVG: Final = {
    'fill="#000"': 'fill="currentcolor"',
    'stroke="#ddd"': 'stroke="currentcolor" stroke-opacity="0.18"',
    "<svg ": '<svg style="max-width: 100%; height: auto" ',
}
"""What Vega writes, and what follows the notebook's colours and width."""


def fragment(*parts: str) -> str:
    """Return parts as one piece, with its style."""
    whole = Markup('<div class="anira"><style>{}</style>{}</div>')
    return str(whole.format(_style(), _joined(map(Markup, parts))))


def strip(tokens: Sequence[Token], max_depth: int, *, title: str = "") -> str:
    """Return tokens shaded by depth, with the exit probabilities below each as bars.

    >>> "--share: 50%" in strip([{"text": "<ans>", "depth": 2}], 4)
    True
    """
    shown = tokens[-LONGEST:]
    left_out = f" ({len(tokens) - len(shown)} earlier tokens are not shown)" if len(shown) < len(tokens) else ""
    head = _made("<p>{}</p>", title + left_out) if title or left_out else ""
    return head + _made('<div class="tokens">{}</div>', _joined(_box(token, max_depth) for token in shown))


def lens(tokens: Sequence[Token]) -> str:
    """Return a table with a column per token and a row per iteration: the likeliest next token, and its probability.

    Where the true token is known, right is green and wrong is red. What a token says after its exit is not shown.
    """
    shown = [token for token in tokens if token.get("after")][-LONGEST:]
    deepest = max((len(token["after"]) for token in shown), default=0)
    head = _made("<tr><th></th>{}</tr>", _joined(_made("<th><b>{}</b></th>", _seen(token["text"])) for token in shown))
    rows = [
        _made("<tr><th>{}</th>{}</tr>", f"after iteration {d + 1}" if d == 0 else str(d + 1), _joined(cells))
        for d, cells in enumerate([[_said(token, d) for token in shown] for d in range(deepest)])
    ]
    return _made('<div class="wide"><table class="lens">{}{}</table></div>', head, _joined(rows))


def chart_svg(chart: alt.TopLevelMixin) -> str:
    """Return a chart as SVG, in the style of the pages; its text and grid have the notebook's colour."""
    spec = themed(chart) | {"width": _WIDTH, "height": HEIGHT * 3 // 4}
    drawn: str = vl_convert.vegalite_to_svg(spec)
    for before, after in _SVG.items():
        drawn = drawn.replace(before, after)
    return drawn


def heading(text: str) -> str:
    """Return a small heading, or nothing for an empty text."""
    return _made("<p><b>{}</b></p>", text) if text else ""


def columns(*parts: str) -> str:
    """Return parts beside each other where there is room, and below where there is not."""
    cells = _joined(_made('<div style="flex: 1 1 20rem; min-width: 0">{}</div>', Markup(part)) for part in parts)
    return _made('<div style="display: flex; flex-wrap: wrap; gap: 1rem">{}</div>', cells)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, caption: str = "") -> str:
    """Return a table of texts, with a sentence above it."""
    lines = [_row("td", row) for row in rows]
    whole = '<p class="caption">{}</p><div class="wide"><table><thead>{}</thead><tbody>{}</tbody></table></div>'
    return _made(whole, caption, _row("th", head), _joined(lines))


def _row(tag: str, cells: Iterable[str]) -> Markup:
    return _made("<tr>{}</tr>", _joined(_made(f"<{tag}>{{}}</{tag}>", cell) for cell in cells))


def _box(token: Token, max_depth: int) -> Markup:
    kind = "token answer" if "predicts" in token else "token"
    share = round(100 * token["depth"] / max_depth)
    box = '<span class="{}" style="--share: {}%" title="{}"><b>{}</b><small>{}</small>{}</span>'
    return _made(box, kind, share, _remark(token, max_depth), _seen(token["text"]), token["depth"], _bars(token))


def _seen(text: str) -> str:
    """Return a token's text with white space that can be seen."""
    return text.replace(" ", "\u2423").replace("\n", "\u21b5") or "\u00a0"


def _remark(token: Token, max_depth: int) -> str:
    """Return what shows on pointing at a token."""
    lines = [f"depth {token['depth']} of {max_depth}"]
    lines += [f"q({d}) = {q:.3f}" for d, q in enumerate(token.get("probs") or (), 1)]
    if "predicts" in token:
        truth = token.get("truth")
        lines.append(f"predicts {token['predicts']}" + ("" if truth is None else f", true: {truth}"))
    return "\n".join(lines)


def _bars(token: Token) -> Markup:
    """Return the exit probabilities as bars, one per iteration."""
    bar = '<i style="width: 4px; min-height: 1px; height: {}px; background: currentcolor; opacity: 0.55"></i>'
    bars = _joined(_made(bar, round(18 * q)) for q in token.get("probs") or ())
    row = '<span style="display: flex; gap: 1px; align-items: end; justify-content: center; height: 18px">{}</span>'
    return _made(row, bars) if bars else Markup("")


def _said(token: Token, d: int) -> Markup:
    """Return what a token says after an iteration, with the runners-up on pointing at it."""
    if d >= len(token["after"]):
        return Markup("<td></td>")
    (first, share), *_ = said = token["after"][d]
    truth = token.get("truth")
    tone = "" if truth is None else "good" if first == truth else "bad"
    remark = "\n".join(f"{text} {prob:.3f}" for text, prob in said)
    return _made('<td class="{}" title="{}">{}<small>{}</small></td>', tone, remark, _seen(first), f"{share:.2f}")


def _made(form: str, *values: Any) -> Markup:
    """Return a form with its blanks filled: text is escaped, and nothing in it can turn the direction of writing."""
    return Markup(form).format(*(_plain(value) for value in values))


def _plain(value: Any) -> Any:
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _joined(parts: Iterable[Markup]) -> Markup:
    return Markup("").join(parts)


@cache
def _style() -> Markup:
    pages = resources.files("anira.site").joinpath("templates", "style.css").read_text()
    return Markup(f".anira {{ {_INK} {pages} }}")
