"""What depth saves of the time of decoding, from repeats of the same work at a model's own and at forced depths."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from anira.analysis.intervals import Estimate, Floats
from anira.analysis.repeats import median_estimate


@dataclass(frozen=True, kw_only=True)
class Savings:
    """Shares of the time that the same rows take at full depth without a decider."""

    whole: Estimate
    """The whole model at its own depths."""
    core: Estimate
    """The same without what takes its time at any depth (prelude, coda, head, calls): that is taken off both."""
    deciding: Estimate
    """What the model takes beyond one without a decider that executes the same depths."""


def savings(own: Sequence[float], forced: Mapping[int, Sequence[float]], depth_shares: Sequence[float]) -> Savings:
    """Return shares of the time at the largest forced depth.

    `own` and `forced` (by depth) are seconds, one a repeat, taken in turns; `depth_shares` the share of the tokens that
    executed 1, 2, ... iterations in `own`. Every repeat gives a share of its own; they are summed up by their median.
    With times 1 + d at forced depths 1 to 4, and tokens half at 1 and half at 3 that take 3.5, the shares are 3.5 / 5,
    2.5 / 4 and (3.5 - (2 + 4) / 2) / 5.
    """
    depths = sorted(forced)
    taken, seconds = np.asarray(own), np.asarray([forced[depth] for depth in depths])
    full = seconds[-1]
    same = _same_depths(depths, seconds, depth_shares)
    return Savings(
        whole=median_estimate((taken / full).tolist()),
        core=_core(depths, seconds, taken),
        deciding=median_estimate(((taken - same) / full).tolist()),
    )


def _same_depths(depths: Sequence[int], seconds: Floats, depth_shares: Sequence[float]) -> Floats:
    """Return the seconds of each repeat without a decider at the given depths; what was not forced is interpolated."""
    every = np.arange(1, len(depth_shares) + 1)
    return np.array([np.dot(depth_shares, np.interp(every, depths, column)) for column in seconds.T])


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
