"""What every seed of several settings says about one claim, as a figure: which side of zero are the intervals on?"""

import textwrap
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from anira.measure.claims.knob import Claim
from anira.measure.statistics.estimates import Estimate
from anira.site.drawing.style import INK, SOFT, styles
from anira.site.drawing.svg import draw

_WIDTH, _ROW, _LINE, _GAP, _FOOT = 380, 34, 14, 26, 24  # pixels; a phone shows the figure at its full size
_APART, _ROOM = 0.18, 0.8  # shares of a row: by which seeds stand apart, and that all of them may take
_LABELS = 0.44  # share of the width that the names of settings take
_LABEL_LETTERS, _TITLE_LETTERS = 30, 62  # what fits into a line
_LOOK = styles({"": "anira-e"})[""]


def seeds_figure(claims: Sequence[Claim], *, name: str) -> str:
    """Draw a panel for each thing that was measured, in it a row for each setting, with a marker for each seed.

    Zero is the line that matters. Settings may differ in their units: each row is drawn as shares of its own largest
    value, and the numbers are in the table.
    """
    panels: dict[str, list[Claim]] = {}
    for claim in claims:
        panels.setdefault(claim.text, []).append(claim)
    titles = {text: textwrap.wrap(text, _TITLE_LETTERS) for text in panels}

    def paint(figure: Figure) -> None:
        top = height
        for text, rows in panels.items():
            tall = _ROW * len(rows)
            top -= _LINE * len(titles[text]) + tall
            axes = figure.add_axes((_LABELS, top / height, 0.98 - _LABELS, tall / height))
            axes.set_title("\n".join(titles[text]), loc="left", fontsize=11, color=INK, x=-_LABELS / (0.98 - _LABELS))
            _rows(axes, rows)
            top -= _GAP
        axes.set_xlabel("against the claim  |  as claimed", color=SOFT)

    lines = sum(map(len, titles.values()))
    height = _LINE * lines + _ROW * len(claims) + _GAP * len(panels) + _FOOT
    measured = [f"{text} ({', '.join(claim.experiment for claim in rows)})" for text, rows in panels.items()]
    description = f"Estimates of every seed on either side of zero: {'; '.join(measured)}."
    return draw(name, description, (_WIDTH, height), paint)


def _rows(axes: Axes, claims: Sequence[Claim]) -> None:
    axes.axvline(0, color=INK, linewidth=1.0)
    for line, claim in enumerate(claims):
        shown = _scaled(claim.estimates)
        apart = min(_APART, _ROOM / len(shown))
        for i, (value, low, high) in enumerate(shown):
            at = line + apart * (i - (len(shown) - 1) / 2)
            axes.hlines([at], low, high, color=_LOOK.colour, linewidth=1.6)
            axes.plot([value], [at], _LOOK.marker, color=_LOOK.colour, markersize=5)
    labels = [textwrap.fill(claim.experiment, _LABEL_LETTERS, break_long_words=False) for claim in claims]
    axes.set_yticks(range(len(claims)), labels, fontsize=10)
    axes.set_ylim(len(claims) - 0.5, -0.5)
    axes.set_xlim(-1.05, 1.05)
    axes.set_xticks([0], ["0"])


def _scaled(estimates: Sequence[Estimate]) -> list[tuple[float, float, float]]:
    """Return value and interval of all that have one, as shares of the largest end of an interval."""
    found = [
        (one.value, one.low, one.high)
        for one in estimates
        if one.value is not None and one.low is not None and one.high is not None
    ]
    largest = max(abs(end) for one in found for end in one) or 1.0
    return [(value / largest, low / largest, high / largest) for value, low, high in found]
