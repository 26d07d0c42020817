"""What depth saves of the time of decoding, from repeats of the same work at a model's own and at forced depths."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from anira.measure.repeats import median_estimate
from anira.measure.statistics.estimates import Estimate, Floats


@dataclass(frozen=True, kw_only=True)
class Savings:
    """Shares of the time that the same rows take at full depth without a decider."""

    whole: Estimate
    """The whole model."""
    core: Estimate
    """The same without what takes its time at any depth (prelude, coda, head, calls): that is taken off both."""


def savings(taken: Sequence[float], forced: Mapping[int, Sequence[float]]) -> Savings:
    """Return shares of the time at the largest forced depth.

    `taken` and `forced` (by depth) are seconds, one a repeat, measured in turns. Every repeat gives a share of its own;
    they are summed up by their median. With times 1 + d at forced depths 1 to 4, rows that take 3.5 have the shares
    3.5 / 5 and 2.5 / 4.
    """
    depths, seconds = _by_depth(forced)
    own = np.asarray(taken)
    return Savings(whole=median_estimate((own / seconds[-1]).tolist()), core=_core(depths, seconds, own))


def deciding_share(
    own: Sequence[float], forced: Mapping[int, Sequence[float]], depth_shares: Sequence[float]
) -> Estimate:
    """Return what a model takes beyond one without a decider that executes the same depths, as such a share.

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


def _by_depth(forced: Mapping[int, Sequence[float]]) -> tuple[list[int], Floats]:
    """Return the forced depths in order, and their seconds, a row a depth."""
    depths = sorted(forced)
    return depths, np.asarray([forced[depth] for depth in depths])


def _core(depths: Sequence[int], seconds: Floats, taken: Floats) -> Estimate:
    """Take off what a line through the forced depths, by the medians of their shares, gives for depth 0.

    The largest is not on that line: a token that runs to the end needs no exit state. Of three depths or fewer all are
    taken. A line for each repeat would be too unsteady to divide by; so the interval leaves out how sure the line is.
    """
    if len(depths) < 2:
        return Estimate(None, reason="there is one depth only")
    kept = slice(None, -1 if len(depths) > 3 else None)
    at_zero = np.polyfit(depths[kept], np.median(seconds / seconds[-1], axis=1)[kept], 1)[1]
    if at_zero >= 1:
        return Estimate(None, reason="less depth takes no less time here")
    return median_estimate(((taken / seconds[-1] - at_zero) / (1 - at_zero)).tolist())
