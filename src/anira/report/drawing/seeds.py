"""What every seed of several settings says about one claim, as a figure: which side of zero are the intervals on?"""

from collections.abc import Sequence

from matplotlib.figure import Figure

from anira.analysis import Claim, Estimate
from anira.report.drawing.style import INK, SOFT, styles
from anira.report.drawing.svg import draw

_WIDTH, _ROW, _FRAME = 560, 34, 58  # pixels
_APART = 0.18  # share of a row by which seeds stand apart
_LABELS = 0.44  # share of the width that the names of settings take
_LOOK = styles({"": "anira-e"})[""]


def seeds_figure(claims: Sequence[Claim], *, name: str) -> str:
    """Draw a row for each setting, in it a marker with its interval for each seed; zero is the line that matters.

    Settings may differ in their units: each row is drawn as shares of its own largest value, and the numbers are in
    the table.
    """

    def paint(figure: Figure) -> None:
        axes = figure.add_axes((_LABELS, 34 / height, 0.98 - _LABELS, (height - _FRAME) / height))
        axes.axvline(0, color=INK, linewidth=1.0)
        for line, claim in enumerate(claims):
            for i, (value, low, high) in enumerate(shown := _scaled(claim.estimates)):
                at = line + _APART * (i - (len(shown) - 1) / 2)
                axes.hlines([at], low, high, color=_LOOK.colour, linewidth=1.6)
                axes.plot([value], [at], "o", color=_LOOK.colour, markersize=5)
        axes.set_ylim(len(claims) - 0.5, -0.5)
        axes.set_yticks(range(len(claims)), [claim.experiment for claim in claims])
        axes.set_xlim(-1.05, 1.05)
        axes.set_xticks([0], ["0"])
        axes.set_xlabel("against the claim  |  as claimed", color=SOFT)

    height = _FRAME + _ROW * len(claims)
    names = ", ".join(claim.experiment for claim in claims)
    return draw(name, f"Estimates of every seed on either side of zero for {names}.", (_WIDTH, height), paint)


def _scaled(estimates: Sequence[Estimate]) -> list[tuple[float, float, float]]:
    """Return value and interval of all that have one, as shares of the largest end of an interval."""
    found = [
        (one.value, one.low, one.high)
        for one in estimates
        if one.value is not None and one.low is not None and one.high is not None
    ]
    largest = max(abs(end) for one in found for end in one) or 1.0
    return [(value / largest, low / largest, high / largest) for value, low, high in found]
