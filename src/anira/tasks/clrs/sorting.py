"""Sorting and searching: sort, minimum, quickselect, binary search."""

from bisect import bisect_left

import numpy as np

from anira.config import UserError
from anira.tasks.clrs.sampling import Instances, cut


def sort(key: list[float]) -> tuple[list[float]]:
    """Return the values in ascending order."""
    return (sorted(key),)


def minimum(key: list[float]) -> tuple[int]:
    """Return the first index of the smallest value."""
    return (key.index(min(key)),)


def quickselect(key: list[float]) -> tuple[int]:
    """Return where the value of rank n // 2 (counted from 0) stands.

    Equal values are told apart as the algorithm does: partitions move what is at most the last element to the front.

    >>> quickselect([0.25, 0.566, 0.056, 0.681, 0.607])
    (1,)
    """
    order = list(range(len(key)))
    low, high, rank = 0, len(key) - 1, len(key) // 2
    while True:
        pivot, split = key[order[high]], low
        for j in range(low, high):
            if key[order[j]] <= pivot:
                order[split], order[j] = order[j], order[split]
                split += 1
        order[split], order[high] = order[high], order[split]
        if split == rank:
            return (order[split],)
        low, high = (low, split - 1) if rank < split else (split + 1, high)


def draw_search(rng: np.random.Generator, count: int, n: int) -> Instances:
    """Draw sorted lists and a target for each, all uniform on 0 .. 1."""
    key = cut(np.sort(rng.random((count, n)), axis=1))
    return list(zip(key.tolist(), cut(rng.random(count)).tolist(), strict=True))


def binary_search(key: list[float], target: float) -> tuple[int]:
    """Return the first place whose value is at least the target, or the last place.

    >>> binary_search([0.1, 0.2, 0.2, 0.3], 0.2), binary_search([0.1, 0.2], 0.9)
    ((1,), (1,))
    """
    if key != sorted(key):
        raise UserError("key must be in ascending order")
    return (min(bisect_left(key, target), len(key) - 1),)
