"""Repeated measurements of one quantity: their median, and an exact interval of it."""

from collections.abc import Sequence

import numpy as np
from scipy import stats

from anira.measure.statistics.estimates import LEVEL, Estimate


def median_estimate(values: Sequence[float]) -> Estimate:
    """Return the median with the interval between two order statistics that the binomial distribution gives.

    Nothing is assumed of how the values are spread; with fewer than six of them there is no such interval.

    >>> print(median_estimate([3.0, 1.0, 2.0, 5.0, 4.0, 9.0, 7.0]))
    4.00 [1.00, 9.00]
    >>> print(median_estimate([1.0, 2.0, 3.0]))
    2.00 [no interval: fewer than 6 repeats]
    """
    if not len(values):
        return Estimate(None, reason="no repeats")
    value = float(np.median(values))
    # 1/2^n is the chance that all lie on one side of the true median.
    if 2 * 0.5 ** len(values) > 1 - LEVEL:
        return Estimate(value, reason="fewer than 6 repeats")
    interval = stats.quantile_test(np.asarray(values), q=value, p=0.5).confidence_interval(LEVEL)
    return Estimate(value, float(interval.low), float(interval.high))
