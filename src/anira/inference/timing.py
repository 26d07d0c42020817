"""Measuring: interleaved repeats, medians, straight-line fits."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Line:
    """t = intercept + slope * x, by least squares."""

    intercept: float
    slope: float

    @staticmethod
    def fit(x: Sequence[float], t: Sequence[float]) -> "Line":
        """Fit a line.

        >>> Line.fit([1, 2, 3], [5.0, 7.0, 9.0]).at(10)
        23.0
        """
        slope, intercept = np.polyfit(x, t, 1)
        return Line(round(float(intercept), 12), round(float(slope), 12))

    def at(self, x: float) -> float:
        """Return the value at x."""
        return self.intercept + self.slope * x


def interleaved(
    work: Mapping[str, Callable[[], Any]],
    *,
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
    warm_up: Mapping[str, Callable[[], Any]] | None = None,
) -> dict[str, list[float]]:
    """Return the seconds of each repeat of each piece of work; they take turns: a busy moment slows all alike.

    `warm_up` is a smaller piece of each work, where a whole one takes minutes.
    """
    for once in (work if warm_up is None else warm_up).values():
        once()  # the first call pays for what is loaded and allocated once
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(repeats):
        for name, once in work.items():
            start = clock()
            once()
            seconds[name].append(clock() - start)
    return seconds


def interleaved_medians(
    work: Mapping[str, Callable[[], Any]], *, repeats: int, warm_up: Mapping[str, Callable[[], Any]] | None = None
) -> dict[str, float]:
    """Return the median seconds of each piece of work, measured in turns."""
    seconds = interleaved(work, repeats=repeats, warm_up=warm_up)
    return {name: statistics.median(values) for name, values in seconds.items()}
