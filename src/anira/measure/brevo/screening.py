"""Which of several features may stand in one regression: none that is constant, and none that others already say.

>>> import numpy as np
>>> from anira.measure.statistics.explained import Moments
>>> rng = np.random.default_rng(0)
>>> hub, depth = rng.normal(size=(2, 500))
>>> twin = hub + 0.1 * rng.normal(size=500)
>>> columns = {"hub": hub, "twin": twin, "flat": np.ones(500), "depth": hub + depth}
>>> screen(Moments(columns, np.arange(500), np.zeros(500)).explained(), "depth", ["hub", "twin", "flat"])
(('hub',), {'flat': 'constant', 'twin': 'r = 0.995 with hub'})
"""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Final

from anira.measure.statistics.explained import Explained

LARGEST_R: Final = 0.8
LARGEST_VIF: Final = 5.0
_DETERMINED = 1e-9  # a share of the variance below this, left by the other features, is rounding


Screening = tuple[tuple[str, ...], dict[str, str]]
"""What is left of the features, in their order, and why the others went, in the order in which they did."""


def screen(explained: Explained, target: str, features: Sequence[str], *, always: Sequence[str] = ()) -> Screening:
    """Drop constant features; then of pairs with |r| > 0.8 the one less correlated with the target, the closest pair
    first; then, while a variance inflation factor is 5 or more, the feature with the highest, and look again.

    Features in `always` are dropped only where they are constant: in a pair, the other one goes.
    """
    weak = {name: abs(explained.correlation(name, target)) for name in features}
    dropped = {name: "constant" for name in features if math.isnan(weak[name])}
    weak |= dict.fromkeys(always, math.inf)
    kept = [name for name in features if name not in dropped]
    for size, one, other in _pairs(explained, kept):
        if {one, other} <= set(kept):
            lost, left = (one, other) if weak[one] < weak[other] else (other, one)
            kept.remove(lost)
            dropped[lost] = f"r = {size:.3f} with {left}"
    while worst := _worst(explained, kept, weak):
        name, factor = worst
        kept.remove(name)
        dropped[name] = "determined by the others" if math.isinf(factor) else f"VIF = {factor:.1f}"
    return tuple(kept), dropped


def inflation(explained: Explained, name: str, others: Sequence[str]) -> float:
    """Return the variance inflation factor of a feature among others; infinite where they determine it."""
    left = 1 - float(explained.r2(name, others)[0])
    return 1 / left if left > _DETERMINED else math.inf


def _pairs(explained: Explained, names: Sequence[str]) -> list[tuple[float, str, str]]:
    """Return the pairs that are too close with their correlations, the closest first."""
    found = [(explained.correlation(one, other), one, other) for one, other in combinations(names, 2)]
    return sorted((pair for pair in found if abs(pair[0]) > LARGEST_R), key=lambda pair: -abs(pair[0]))


def _worst(explained: Explained, names: Sequence[str], weak: Mapping[str, float]) -> tuple[str, float] | None:
    """Return the feature to drop next with its factor; of equal ones, the one that says least about the target."""
    factors = {name: inflation(explained, name, [other for other in names if other != name]) for name in names}
    high = [name for name in names if factors[name] >= LARGEST_VIF and not math.isinf(weak[name])]
    if not high:
        return None
    name = max(high, key=lambda one: (factors[one], -weak[one]))
    return name, factors[name]
