"""Intervals where questions come in clusters: those made from one template are right or wrong together.

With 100 templates of 50 questions each, an interval for 5,000 independent questions can be several times too narrow.
Here a cluster is the unit, and its sums are all that counts.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from anira.measure.statistics.association import Slope, Spearman
from anira.measure.statistics.estimates import LEVEL, Estimate, Floats, Ints, wilson

_TOO_FEW = "fewer than two templates"


def ratio(sums: ArrayLike, counts: ArrayLike, clusters: Ints) -> tuple[float, float, int] | None:
    """Return the sum of `sums` divided by that of `counts`, its standard error by linearisation, and the clusters.

    None where there is nothing to divide by. With one value per cluster and counts of 1 it is the mean, and its error
    the usual one:

    >>> value, error, number = ratio([1.0, 2.0, 3.0], [1, 1, 1], np.array([0, 1, 2]))
    >>> round(value, 3), round(error, 3), number
    (2.0, 0.577, 3)
    """
    _, index = np.unique(clusters, return_inverse=True)
    above, below = (np.bincount(index, weights=np.asarray(part, dtype=np.float64)) for part in (sums, counts))
    if not below.sum():
        return None
    value, number = above.sum() / below.sum(), len(above)
    spread = ((above - value * below) ** 2).sum() * number / (number - 1) if number > 1 else 0.0
    return float(value), float(np.sqrt(spread) / below.sum()), number


def clustered_mean(sums: ArrayLike, counts: ArrayLike, clusters: Ints, *, undefined: str) -> Estimate:
    """Return a mean over all that is counted, with a t interval over clusters."""
    found = ratio(sums, counts, clusters)
    if found is None:
        return Estimate(None, reason=undefined)
    value, error, number = found
    if number < 2:
        return Estimate(value, reason=_TOO_FEW)
    half = _quantile(number) * error
    return Estimate(value, value - half, value + half)


def clustered_share(right: Floats, clusters: Ints) -> Estimate:
    """Return a share of questions with a Wilson interval for as many independent questions as the clusters are worth.

    That number is p (1 - p) divided by the squared standard error over clusters. Where all answers are right or all
    are wrong nothing can be seen of it, and each cluster counts as one question.
    """
    found = ratio(right, np.ones(len(right)), clusters)
    if found is None:
        return Estimate(None, reason="no instances")
    share, error, number = found
    if number < 2:
        return Estimate(share, reason=_TOO_FEW)
    worth = min(share * (1 - share) / error**2, len(right)) if error else float(number)
    worth *= (stats.norm.ppf((1 + LEVEL) / 2) / _quantile(number)) ** 2  # few clusters say little of the error itself
    low, high = wilson(share * worth, worth)
    return Estimate(share, float(low), float(high))


def _quantile(clusters: int) -> float:
    """Return the t quantile of an interval over clusters."""
    return float(stats.t.ppf((1 + LEVEL) / 2, clusters - 1))


class OfClusters:
    """A statistic of instances as one of clusters, for the bootstrap: all instances of a cluster count alike.

    `index` is the cluster of each instance, from 0 on.
    """

    def __init__(self, statistic: Slope | Spearman, index: Ints) -> None:
        self._statistic, self._index = statistic, index
        self.undefined = statistic.undefined

    def __call__(self, weights: Floats) -> Floats:
        """Map weights of clusters to values."""
        return self._statistic(weights[self._index])
