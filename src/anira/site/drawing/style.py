"""One look for every figure: who gets which colour, marker and line, and how colours reach the page.

Looks belong to experiments: seeds of one experiment share a look, have thinner lines, and one entry of the legend.

Figures are drawn with stand-in colours that no eye would tell apart; `css_of` says what each stands for. So the same
SVG follows the page between light and dark.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Final

INK, SOFT, FAINT, SEEN, PAPER = "#010101", "#010102", "#010103", "#010104", "#010105"
_NAMED: Final = {INK: "ink", SOFT: "soft", FAINT: "faint", SEEN: "seen", PAPER: "paper"}
_STAND_IN: Final = re.compile(r"#01(01(?=0[1-5])|02|03)([0-9a-f]{2})\b")


@dataclass(frozen=True)
class Style:
    """How one experiment looks: the three differ together, so that any one of them is enough to tell lines apart."""

    name: str
    """What the legend calls it."""
    series: int
    """Number of the colour, 1 to 6; the page's style sheet knows its shade in light and dark."""
    marker: str
    dashes: tuple[float, ...]
    """Lengths of dash and gap; empty for a solid line."""

    @property
    def colour(self) -> str:
        """The stand-in colour to draw with."""
        return f"#0102{self.series:02x}"

    @property
    def svg_dashes(self) -> tuple[float, ...]:
        """The dashes in pixels; matplotlib's are in units of the line's width."""
        return tuple(round(1.8 * length, 1) for length in self.dashes)

    @property
    def line(self) -> str | tuple[float, tuple[float, ...]]:
        """The line style as matplotlib takes it."""
        return (0.0, self.dashes) if self.dashes else "-"


_CYCLE: Final = (
    Style("anira-e", 1, "o", ()),
    Style("anira-o", 2, "s", (5, 2)),
    Style("fixed", 3, "^", (1.5, 1.5)),
    Style("unshared", 4, "D", (6, 2, 1.5, 2)),
    Style("", 5, "v", (8, 3)),
    Style("", 6, "P", (3, 1.5)),
)
"""Our variants have looks of their own."""
_KNOB_MARKERS: Final = "os^Dv"


def styles(experiments: Mapping[str, str]) -> dict[str, Style]:
    """Give each run (label -> experiment) the look of its experiment: our variants always the same, others the rest.

    An experiment is named by its variant, with its settings behind a comma where several share the variant; the first
    of them looks like the variant.

    >>> runs = {"anira-o, seed 0": "anira-o", "anira-o, seed 1": "anira-o", "act": "act", "anira-e": "anira-e"}
    >>> [style.series for style in styles(runs).values()]
    [2, 2, 3, 1]
    """
    names = list(dict.fromkeys(experiments.values()))
    first = {name.partition(",")[0]: name for name in reversed(names)}
    own = {first[style.name]: style for style in _CYCLE if style.name in first}
    free = [style for style in _CYCLE if style not in own.values()] or _CYCLE
    others = dict(zip((name for name in names if name not in own), cycle(free), strict=False))
    looks = {name: replace(style, name=name) for name, style in (own | others).items()}
    return {label: looks[name] for label, name in experiments.items()}


def legend(looks: Mapping[str, Style]) -> dict[str, Style]:
    """Return one entry an experiment from the looks of runs."""
    return {look.name: look for look in looks.values()}


def thinness(looks: Iterable[Style]) -> float:
    """Return the share of their size that lines and markers get: less where seeds share a look, since they are many."""
    found = list(looks)
    return 1.0 if len(set(found)) == len(found) else 0.6


@dataclass(frozen=True)
class KnobLook:
    """How the lines of one knob look."""

    colour: str
    marker: str


def knob_looks(knobs: Sequence[int]) -> dict[int, KnobLook]:
    """Give each of ascending knobs a shade between two ends of a scale, and markers in turn."""
    last = max(1, len(knobs) - 1)
    shades = [round(100 * i / last) for i in range(len(knobs))]
    return {
        knob: KnobLook(f"#0103{shade:02x}", _KNOB_MARKERS[i % len(_KNOB_MARKERS)])
        for i, (knob, shade) in enumerate(zip(knobs, shades, strict=True))
    }


def css_of(svg: str) -> str:
    """Replace stand-in colours by what the page's style sheet calls them.

    >>> css_of(f"fill: {INK}; stroke: {Style('anira-o', 2, 's', ()).colour}")
    'fill: var(--ink); stroke: var(--series-2)'
    """
    return _STAND_IN.sub(_meaning, svg)


def _meaning(found: re.Match[str]) -> str:
    kind, number = found[1], int(found[2], 16)
    if kind == "01":
        return f"var(--{_NAMED[found[0]]})"
    if kind == "02":
        return f"var(--series-{number})"
    return f"color-mix(in oklab, var(--knob-high) {number}%, var(--knob-low))"
