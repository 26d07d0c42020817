"""Estimates with 95% intervals; an estimate that cannot be made says why instead of being 0."""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from statsmodels.stats.proportion import confint_proportions_2indep

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]
LEVEL: Final = 0.95
LARGEST_UNDEFINED_SHARE: Final = 0.05
"""Where more resamples than this leave a statistic undefined, its interval is too."""


@dataclass(frozen=True)
class Estimate:
    """A value and its 95% interval; what is undefined is None, and `reason` says why.

    >>> print(Estimate(0.31, 0.25, 0.37)), print(Estimate(None, reason="the depth is constant"))
    0.31 [0.25, 0.37]
    undefined (the depth is constant)
    (None, None)
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""

    @property
    def direction(self) -> int:
        """1 if the whole interval lies above zero, -1 if below, 0 if it reaches zero or there is none."""
        if self.low is None or self.high is None:
            return 0
        return int(self.low > 0) - int(self.high < 0)

    def __str__(self) -> str:
        return self.text()

    def text(self, digits: int = 2) -> str:
        """Write the value and its interval with so many decimals."""
        if self.value is None:
            return f"undefined ({self.reason})"
        if self.low is None or self.high is None:
            return f"{self.value:z.{digits}f} [no interval: {self.reason}]"
        return f"{self.value:z.{digits}f} [{self.low:z.{digits}f}, {self.high:z.{digits}f}]"


def beyond(estimate: Estimate, low: float, high: float) -> Estimate:
    """Return how far an estimate lies outside the range that there is without any effect; inside of it, 0.

    >>> [beyond(Estimate(value), 0.0, 0.2).value for value in (0.5, -0.5, 0.1)]
    [0.3, -0.5, 0.0]
    """
    if estimate.value is None:
        return estimate
    shift = -min(max(estimate.value, low), high)
    ends = [None if end is None else end + shift for end in (estimate.low, estimate.high)]
    return Estimate(estimate.value + shift, ends[0], ends[1])


def wilson(successes: ArrayLike, counts: ArrayLike, level: float = LEVEL) -> tuple[Floats, Floats]:
    """Return the ends of the Wilson score intervals of proportions; NaN where the count is 0.

    With 8 right of 10 the interval is 0.49 to 0.943; with 10 of 10 it is 0.722 to 1, not a point.
    """
    right, n = np.asarray(successes, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = right / n
        z2 = NormalDist().inv_cdf((1 + level) / 2) ** 2 / n
        centre = (share + z2 / 2) / (1 + z2)
        half = np.sqrt(z2 * share * (1 - share) + z2**2 / 4) / (1 + z2)
    # Where no or every instance is right, an end is exactly 0 or 1; rounding may miss it.
    return np.where(share == 0, 0.0, centre - half), np.where(share == 1, 1.0, centre + half)


def proportion(successes: int, count: int) -> Estimate:
    """Return a share of independent instances with its Wilson interval.

    >>> print(proportion(8, 10))
    0.80 [0.49, 0.94]
    """
    if not count:
        return Estimate(None, reason="no instances")
    low, high = wilson(successes, count)
    return Estimate(successes / count, float(low), float(high))


def proportion_difference(first: tuple[int, int], second: tuple[int, int]) -> Estimate:
    """Return the difference of two shares of different instances (successes, count), with Newcombe's interval.

    >>> print(proportion_difference((80, 100), (50, 100)))
    0.30 [0.17, 0.42]
    """
    low, high = confint_proportions_2indep(*first, *second, compare="diff", method="newcomb", alpha=1 - LEVEL)
    return Estimate(first[0] / first[1] - second[0] / second[1], float(low), float(high))


def percentile(value: float, replicates: Floats, undefined: str) -> Estimate:
    """Return a value with the 95% interval of its bootstrap replicates; NaN means that a replicate is undefined.

    `undefined` is the reason to give where the value itself, or too many replicates, are.
    """
    if math.isnan(value):
        return Estimate(None, reason=undefined)
    kept = replicates[~np.isnan(replicates)]
    lost = (len(replicates) - len(kept)) / len(replicates)
    if lost > LARGEST_UNDEFINED_SHARE:
        return Estimate(value, reason=f"too few instances, {lost:.0%} of the resamples leave it undefined")
    low, high = np.quantile(kept, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(value, float(low), float(high))


def corrected_for_number(pvalues: ArrayLike) -> Floats:
    """Return p-values as Holm corrects them for their number, in the order in which they came.

    statsmodels has this too, and collects the garbage of the whole process each time: a good part of a second.

    >>> corrected_for_number([0.04, 0.01, 0.3]).tolist()
    [0.08, 0.03, 0.3]
    """
    given = np.asarray(pvalues, dtype=np.float64)
    order = np.argsort(given)
    corrected = np.empty_like(given)
    corrected[order] = np.maximum.accumulate(given[order] * np.arange(len(given), 0, -1))
    return np.minimum(corrected, 1.0)
