"""Bootstrap clustered by instance, on sufficient statistics.

Tokens of one instance are not independent, so instances are resampled, never tokens. A resample is written as weights:
how often each instance was drawn. A statistic that is a function of the weights never looks at a token again: it keeps
sums of its own for each instance, and a thousand resamples of them are one product of matrices. Its value on the
records themselves is the one at weights of 1.

    instances        0  1  2  3
    a resample       1  3  3  0
    its weights      1  1  0  2
"""

from collections.abc import Iterator, Mapping
from typing import Final, Protocol

import numpy as np

from anira.measure.statistics.estimates import Estimate, Floats, Ints, percentile

DRAWS: Final = 1000
SMALLEST_STRATUM: Final = 10
_CHUNK = 4_000_000  # weights in memory at a time
_FEWEST, _WEIGHTS = 200, 50_000_000
"""With very many instances fewer resamples are drawn, to stay below this number of weights, but at least 200: the ends
of an interval are then good to a tenth of its width, and the interval is narrow."""


class Statistic(Protocol):
    """One or several values as a function of how often each instance counts."""

    undefined: str
    """The reason to give where a value is NaN."""

    def __call__(self, weights: Floats) -> Floats:
        """Map weights (instances, resamples) to values (values, resamples), NaN where undefined."""


def bootstrap(
    statistics: Mapping[str, Statistic], strata: Ints, *, rng: np.random.Generator, draws: int = DRAWS
) -> dict[str, list[Estimate]]:
    """Return every value of every statistic with its interval; all of them see the same resamples.

    `strata` (instances,) is the knob of each instance: the evaluation fixed how many instances a knob has, so they are
    resampled within it.
    """
    whole = np.ones((len(strata), 1))
    parts: dict[str, list[Floats]] = {name: [] for name in statistics}
    for weights in resamples(strata, rng=rng, draws=draws):
        for name, statistic in statistics.items():
            parts[name].append(statistic(weights))
    return {
        name: [
            percentile(float(value), replicates, statistic.undefined)
            for value, replicates in zip(statistic(whole)[:, 0], np.concatenate(parts[name], axis=1), strict=True)
        ]
        for name, statistic in statistics.items()
    }


def resampled(statistic: Statistic, strata: Ints, *, rng: np.random.Generator, draws: int) -> Estimate:
    """Return the one value of a statistic with its interval."""
    (estimate,) = bootstrap({"": statistic}, strata, rng=rng, draws=draws)[""]
    return estimate


def resamples(strata: Ints, *, rng: np.random.Generator, draws: int) -> Iterator[Floats]:
    """Yield weights (instances, some resamples) until there were `draws` resamples, or fewer of very many instances.

    A stratum of n instances spreads too little by a factor sqrt((n - 1) / n) when it is resampled on its own; where one
    has fewer than 10, all instances are resampled together.
    """
    values, index, sizes = np.unique(strata, return_inverse=True, return_counts=True)
    if sizes.min(initial=SMALLEST_STRATUM) < SMALLEST_STRATUM:
        values, index = values[:1], np.zeros_like(index)
    members = [np.flatnonzero(index == i) for i in range(len(values))]
    draws = min(draws, max(_FEWEST, _WEIGHTS // max(len(strata), 1)))
    step = max(1, _CHUNK // max(len(strata), 1))
    for start in range(0, draws, step):
        width = min(step, draws - start)
        weights = np.empty((len(strata), width))
        for rows in members:
            weights[rows] = _draw(len(rows), width, rng)
        yield weights


def _draw(size: int, width: int, rng: np.random.Generator) -> Ints:
    """Count how often each of `size` instances is among `size` drawn with replacement, `width` times over."""
    cells = rng.integers(size, size=(size, width)) * width + np.arange(width)
    return np.bincount(cells.ravel(), minlength=size * width).reshape(size, width)
