"""What depth saves of the time of decoding, from repeats of the same work at a model's own and at forced depths."""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import stats

from anira.measure.statistics.estimates import LEVEL, Estimate, Floats

Seconds = Sequence[float]
"""One per repeat; those with one number were measured in turns, and belong together."""


def time_ratio(taken: Seconds, forced: Mapping[int, Seconds]) -> Estimate:
    """Return a time as a share of that at the largest forced depth: the median of the shares of single repeats.

    With times 1 + d at forced depths 1 to 4, rows that take 3.5 have the share 3.5 / 5.
    """
    _, seconds = _by_depth(forced)
    return median_estimate((np.asarray(taken) / seconds[-1]).tolist())


def core_time_ratio(taken: Seconds, forced: Mapping[int, Seconds]) -> Estimate:
    """Return the same for the core alone: what is spent at any depth (prelude, coda, head, calls) is subtracted.

    A line through the forced depths, by the medians of their shares, says at depth 0 how much that is. The largest
    depth is left out, because a token that runs to the end needs no exit state; with three depths or fewer all count.
    One line serves all repeats, since a line per repeat would be too unsteady to divide by, and the interval does not
    cover its error. With the times above it is 2.5 / 4.
    """
    depths, seconds = _by_depth(forced)
    if len(depths) < 2:
        return Estimate(None, reason="there is one depth only")
    kept = slice(None, -1 if len(depths) > 3 else None)
    at_zero = np.polyfit(depths[kept], np.median(seconds / seconds[-1], axis=1)[kept], 1)[1]
    if at_zero >= 1:
        return Estimate(None, reason="less depth takes no less time here")
    return median_estimate(((np.asarray(taken) / seconds[-1] - at_zero) / (1 - at_zero)).tolist())


def deciding_ratio(own: Seconds, forced: Mapping[int, Seconds], depth_shares: Sequence[float]) -> Estimate:
    """Return the extra time of a model over one without a decider that executes the same depths, as such a share.

    `depth_shares` has the share of the tokens that executed 1, 2, ... iterations in `own`. With times 1 + d at forced
    depths 1 to 4, and tokens half at 1 and half at 3 that take 3.5, it is (3.5 - (2 + 4) / 2) / 5.
    """
    depths, seconds = _by_depth(forced)
    every = np.arange(1, len(depth_shares) + 1)
    same = np.array([np.dot(depth_shares, np.interp(every, depths, column)) for column in seconds.T])
    return median_estimate(((np.asarray(own) - same) / seconds[-1]).tolist())


def share_with_exit(depth: float, max_depth: int) -> float:
    """Return the memory that is expected at a mean depth: early exits keep one more slot, and there are no more than D.

    >>> share_with_exit(2, 4), share_with_exit(3.5, 4)
    (0.75, 1.0)
    """
    return min(1.0, (depth + 1) / max_depth)


def _by_depth(forced: Mapping[int, Seconds]) -> tuple[list[int], Floats]:
    """Return the forced depths in order, and their seconds, one row per depth."""
    depths = sorted(forced)
    return depths, np.asarray([forced[depth] for depth in depths])


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
