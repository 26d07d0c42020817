"""The two phases of training: depth rises while the task is learned, then falls while accuracy is kept.

Depth is that of the batches that training logged: every one has new rows, and the first comes long before the first
evaluation, when the rise may be over. They are cut into some twelve blocks of equal length.

    batch      *                                          the first one: start 3.0
    blocks     [  3.7  ][  3.9  ][  3.8  ][  3.4  ][  3.3  ]
                         highest   level              end      rise 3.8 - 3.0, fall 3.8 - 3.3

The highest of several noisy blocks is too high: it is highest by luck too. So the highest block only says *where* the
peak is. How high depth is there is read from the block after it, whose own luck did not choose it; where the peak is
sharp that is too low, never too high. Rise is the level minus the start, fall is the level minus the end.

Depth also wobbles from step to step, whatever the instances. How much is estimated from how far blocks (batches, for
the start) lie from the line through their neighbours, and the intervals of rise and fall are made of it.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
import polars as pl
from scipy import stats

from anira.measure.statistics.estimates import LEVEL, Estimate, Floats, proportion_difference
from anira.measure.tidy import Labels, Row, make_row

BLOCKS: Final = 12
SHORTEST_BLOCK: Final = 3
FEWEST_BLOCKS: Final = 6
PARTS: Final = ("start_depth", "peak_depth", "end_depth", "depth_rise", "depth_fall")
_SECOND_DIFFERENCE: Final = 6.0  # the variance of a - 2b + c is 1 + 4 + 1 times that of each
_OVERLAP: Final = 35 / 18  # second differences share terms: n of them are worth n / _OVERLAP independent ones


def phase_rows(labels: Labels, batches: pl.DataFrame, evaluations: pl.DataFrame) -> Iterator[Row]:
    """Yield how depth went over training: its blocks, rise and fall, and whether accuracy was kept.

    `batches` has step and depth, `evaluations` step, instances and accuracy. A block stands at its middle step.
    """
    blocks = _blocks(batches)
    for middle, depth, count in zip(_middle(blocks), blocks["depth"], blocks["batches"], strict=True):
        yield make_row(replace(labels, step=middle), "block_depth", Estimate(depth), n=count)
    row = partial(make_row, labels, n=len(batches))
    depth = batches["depth"].to_numpy()
    if reason := _undefined(len(batches), len(blocks), depth):
        yield from (row(name, Estimate(None, reason=reason)) for name in (*PARTS, "peak_step", "accuracy_kept"))
        return
    highest = int(np.argmax(blocks["depth"].to_numpy()))
    yield row("peak_step", Estimate(float(_middle(blocks)[highest])))
    for name, estimate in _parts(depth, blocks["depth"].to_numpy(), highest).items():
        yield row(name, estimate)
    first, last = blocks.row(highest)[:2]
    yield row("accuracy_kept", _kept(evaluations, (first + last) / 2))


def _parts(depth: Floats, means: Floats, highest: int) -> dict[str, Estimate]:
    """Return depth at the start, at the peak and at the end, and what it rises and falls by.

    Each is a weighted sum of blocks, plus or minus the first batch where it takes part.
    """
    single = np.eye(len(means))
    level, end = single[_after(highest, len(means))], single[-1]
    weights = (0 * end, level, end, level, level - end)
    batch, wobble = wobble_of(depth), wobble_of(means)
    reach = stats.t.ppf((1 + LEVEL) / 2, (len(means) - 2) / _OVERLAP)
    found = {}
    for name, own, first in zip(PARTS, weights, (1, 0, 0, -1, 0), strict=True):
        half = float(reach * np.sqrt(wobble**2 * float(own @ own) + (first * batch) ** 2))
        value = float(own @ means + first * depth[0])
        found[name] = Estimate(value, value - half, value + half)
    return found


def wobble_of(values: Floats) -> float:
    """Return the spread of values around a line through their neighbours, which a smooth trend does not widen.

    >>> round(wobble_of(np.array([1.0, 2.0, 3.0, 4.0])), 6)
    0.0
    """
    return float(np.sqrt(np.mean(np.diff(values, n=2) ** 2) / _SECOND_DIFFERENCE))


def _blocks(batches: pl.DataFrame) -> pl.DataFrame:
    """Cut batches into blocks of equal number; what is left over goes to the first, so that the end is the end."""
    size = max(SHORTEST_BLOCK, len(batches) // BLOCKS)
    starts = [0, *range(len(batches) % size + size, len(batches), size)]
    parts = [batches[start:stop] for start, stop in zip(starts, [*starts[1:], len(batches)], strict=True)]
    rows = [
        (part["step"][0], part["step"][-1], float(part["depth"].to_numpy().mean()), len(part))
        for part in parts
        if len(part) >= size
    ]
    types = {"first": pl.Int64, "last": pl.Int64, "depth": pl.Float64, "batches": pl.Int64}
    return pl.DataFrame(rows, schema=types, orient="row")


def _middle(blocks: pl.DataFrame) -> list[int]:
    return ((blocks["first"] + blocks["last"]) // 2).to_list()


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
