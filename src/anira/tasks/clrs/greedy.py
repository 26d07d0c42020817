"""Greedy algorithms: selecting activities, scheduling tasks. Equal keys keep the order of the input."""

import numpy as np

from anira.tasks.clrs.sampling import Instances, cut


def draw_activities(rng: np.random.Generator, count: int, n: int) -> Instances:
    """Draw start and finish times: two uniform numbers, the smaller first."""
    one, other = rng.random((count, n)), rng.random((count, n))
    start, finish = cut(np.minimum(one, other)), cut(np.maximum(one, other))
    return list(zip(start.tolist(), finish.tolist(), strict=True))


def activity_selector(s: list[float], f: list[float]) -> tuple[list[int]]:
    """Mark activities by finish time, each that starts no earlier than the last marked one finishes.

    >>> activity_selector([0.066, 0.044, 0.056, 0.681, 0.502], [0.25, 0.566, 0.705, 0.9, 0.607])
    ([1, 0, 0, 1, 1],)
    """
    selected, last = [0] * len(s), -float("inf")
    for i in sorted(range(len(f)), key=f.__getitem__):
        if s[i] >= last:
            selected[i], last = 1, f[i]
    return (selected,)


def draw_tasks(rng: np.random.Generator, count: int, n: int) -> Instances:
    """Draw deadlines, uniform on 1 .. n, and weights, uniform on 0 .. 1."""
    deadlines = rng.integers(0, n, size=(count, n)) + 1
    return list(zip(deadlines.tolist(), cut(rng.random((count, n))).tolist(), strict=True))


def task_scheduling(d: list[int], w: list[float]) -> tuple[list[int]]:
    """Mark tasks by falling weight, each whose deadline is later than the number of those marked before."""
    selected, taken = [0] * len(d), 0
    for i in sorted(range(len(w)), key=lambda i: -w[i]):
        if taken < d[i]:
            selected[i] = 1
            taken += 1
    return (selected,)
