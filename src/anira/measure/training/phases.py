"""The two phases of training: depth rises while the task is learned, then falls while accuracy is kept.

Depth is that of the batches that training logged: every one has new rows, and the first comes long before the first
evaluation, when the rise may be over. They are cut into some twelve blocks of equal length.

    batch      *                                          the first one: start 3.0
    blocks     [  3.7  ][  3.9  ][  3.8  ][  3.4  ][  3.3  ]
                         highest   level              end      rise 3.8 - 3.0, fall 3.8 - 3.3

The highest of several noisy blocks is too high: it is highest by luck too. So the highest block only says *where* the
peak is. How high depth is there is read from the block after it, whose own luck did not choose it; where the peak is
sharp that is too low, never too high. Rise is the level less the start, fall is the level less the end.

Depth also wobbles from step to step, whatever the instances. How much is estimated from how far blocks (batches, for
the start) lie from the line through their neighbours, and the intervals of rise and fall are made of it.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from scipy import stats

from anira.measure.statistics.estimates import LEVEL, Estimate, Floats, proportion_difference

BLOCKS: Final = 12
SHORTEST_BLOCK: Final = 3
FEWEST_BLOCKS: Final = 6
_SECOND_DIFFERENCE: Final = 6.0  # the variance of a - 2b + c is 1 + 4 + 1 times that of each
_OVERLAP: Final = 35 / 18  # second differences share terms: n of them are worth n / _OVERLAP independent ones


@dataclass(frozen=True, kw_only=True)
class Block:
    """Mean depth of answer tokens over some logged batches that follow one another."""

    first: int
    last: int
    """Their steps."""
    depth: float


@dataclass(frozen=True, kw_only=True)
class Phases:
    """How depth went over training."""

    blocks: tuple[Block, ...]
    peak: Block | None
    """The block with the highest depth: where learning ends and compute reduction begins."""
    start: Estimate
    """Depth in the first logged batch."""
    level: Estimate
    """Depth at the peak, read from the block after it."""
    end: Estimate
    """Depth in the last block."""
    rise: Estimate
    fall: Estimate
    kept: Estimate
    """Accuracy at the last evaluation less that at the evaluation nearest to the peak, over all knobs."""

    @property
    def boundary(self) -> int | None:
        """The step in the middle of the peak."""
        return None if self.peak is None else (self.peak.first + self.peak.last) // 2

    @property
    def weakest(self) -> Estimate:
        """The part that speaks least for two phases: rise or fall; a lost accuracy, where that is certain."""
        parts = [self.rise, self.fall, *([self.kept] if self.kept.direction < 0 else [])]
        undefined = next((part for part in parts if part.value is None), None)
        return undefined or min(parts, key=lambda part: (part.direction, part.value or 0.0))


def find_phases(batches: pl.DataFrame, evaluations: pl.DataFrame) -> Phases:
    """Return rise and fall of depth; `batches` has step and depth, `evaluations` step, instances and accuracy."""
    blocks = _blocks(batches)
    depth = batches["depth"].to_numpy()
    if reason := _undefined(len(batches), len(blocks), depth):
        nothing = Estimate(None, reason=reason)
        same = dict.fromkeys(("start", "level", "end", "rise", "fall", "kept"), nothing)
        return Phases(blocks=tuple(blocks), peak=None, **same)
    means = np.array([block.depth for block in blocks])
    highest = int(np.argmax(means))
    single = np.eye(len(blocks))
    level, end = single[_after(highest, len(blocks))], single[-1]
    batch, wobble = wobble_of(depth), wobble_of(means)
    freedom = (len(blocks) - 2) / _OVERLAP

    def estimate(weights: Floats, first: float) -> Estimate:
        """Return a weighted sum of blocks and, so many times, the first batch."""
        error = np.sqrt(wobble**2 * float(weights @ weights) + (first * batch) ** 2)
        half = float(stats.t.ppf((1 + LEVEL) / 2, freedom) * error)
        value = float(weights @ means + first * depth[0])
        return Estimate(value, value - half, value + half)

    return Phases(
        blocks=tuple(blocks),
        peak=blocks[highest],
        start=estimate(0 * end, 1),
        level=estimate(level, 0),
        end=estimate(end, 0),
        rise=estimate(level, -1),
        fall=estimate(level - end, 0),
        kept=_kept(evaluations, (blocks[highest].first + blocks[highest].last) / 2),
    )


def wobble_of(values: Floats) -> float:
    """Return the spread of values around a line through their neighbours, which a smooth trend does not widen.

    >>> round(wobble_of(np.array([1.0, 2.0, 3.0, 4.0])), 6)
    0.0
    """
    return float(np.sqrt(np.mean(np.diff(values, n=2) ** 2) / _SECOND_DIFFERENCE))


def _blocks(batches: pl.DataFrame) -> list[Block]:
    """Cut batches into blocks of equal number; what is left over goes to the first, so that the end is the end."""
    size = max(SHORTEST_BLOCK, len(batches) // BLOCKS)
    starts = [0, *range(len(batches) % size + size, len(batches), size)]
    parts = [batches[start:stop] for start, stop in zip(starts, [*starts[1:], len(batches)], strict=True)]
    return [
        Block(first=int(part["step"][0]), last=int(part["step"][-1]), depth=float(part["depth"].to_numpy().mean()))
        for part in parts
        if len(part) >= size
    ]


def _undefined(num_batches: int, num_blocks: int, depth: Floats) -> str:
    if num_blocks < FEWEST_BLOCKS:
        return f"too few logged batches: {num_batches}, and {FEWEST_BLOCKS * SHORTEST_BLOCK} are needed"
    return "the depth is constant" if np.ptp(depth) == 0 else ""


def _after(place: int, count: int) -> int:
    """Return the block to read the level from: the next one; the one before, where the next is the end or is none."""
    return place + 1 if place + 1 < count - 1 else place - 1


def _kept(evaluations: pl.DataFrame, step: float) -> Estimate:
    """Return how accuracy changed from the evaluation nearest to a step to the last one, with Newcombe's interval.

    Both read the same instances where they are equally many; taken as independent, the interval is too wide.
    """
    right = (pl.col("accuracy") * pl.col("instances")).sum().round().alias("right")
    pooled = evaluations.group_by("step").agg(right, pl.col("instances").sum()).sort("step").to_dicts()
    if not pooled:
        return Estimate(None, reason="there is no evaluation")
    last, near = pooled[-1], min(pooled, key=lambda one: abs(one["step"] - step))
    if near is last:
        return Estimate(None, reason="depth is highest at the last evaluation")
    return proportion_difference((last["right"], last["instances"]), (near["right"], near["instances"]))
