"""Divide and conquer: the maximum subarray, by Kadane's scan."""

import numpy as np

from anira.tasks.clrs.sampling import Instances, cut


def draw_signed(rng: np.random.Generator, count: int, n: int) -> Instances:
    """Draw lists of reals, uniform on -1 .. 1."""
    return [(row,) for row in cut(2 * rng.random((count, n)) - 1).tolist()]


def maximum_subarray(key: list[float]) -> tuple[int, int]:
    """Return the first and the last index of a run with the largest sum.

    A run is extended as long as that is no loss against starting anew; of equal sums the one found first stays.

    >>> maximum_subarray([-0.5, 0.1, -0.9, 0.4, 0.2])
    (3, 4)
    """
    best = total = key[0]
    start, answer = 0, (0, 0)
    for i, value in enumerate(key[1:], 1):
        if total + value >= value:
            total += value
        else:
            total, start = value, i
        if total > best:
            best, answer = total, (start, i)
    return answer
