"""Geometry: whether two segments meet, and which points are corners of the convex hull."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from anira.config import UserError
from anira.tasks.base import Floats
from anira.tasks.clrs.sampling import Instances, cut

_POINTS: Final = 4  # two segments, whatever the size asked for
_RADIUS: Final = 2.0
_ZERO: Final = 1e-12  # with 3 decimals a cross product is a multiple of 1e-6: what is smaller is rounding


def draw_segments(rng: np.random.Generator, count: int, n: int) -> Instances:
    """Draw two segments in the unit square; whether they meet is a fair coin, reached by drawing again."""
    return [_draw_segments(rng) for _ in range(count)]


def _draw_segments(rng: np.random.Generator) -> tuple[list[float], list[float]]:
    """Draw again until the coin is met by the points as they are drawn; cut, one pair in some thousand differs."""
    meet = int(rng.random() > 0.5)
    while True:
        x, y = rng.random(_POINTS), rng.random(_POINTS)
        if segments_intersect(x.tolist(), y.tolist()) == (meet,):
            return cut(x).tolist(), cut(y).tolist()


def segments_intersect(x: list[float], y: list[float]) -> tuple[int]:
    """Say whether the segment of points 0 and 1 meets that of points 2 and 3; touching is meeting.

    >>> segments_intersect([0, 1, 0, 1], [0, 1, 1, 0]), segments_intersect([0, 1, 0, 1], [0, 0, 1, 1])
    ((1,), (0,))
    """
    if len(x) != _POINTS:
        raise UserError(f"two segments have 4 points, not {len(x)}")
    ends = ((2, 3, 0), (2, 3, 1), (0, 1, 2), (0, 1, 3))
    turns = [_turn(x, y, i, j, k) for i, j, k in ends]
    if turns[0] * turns[1] < 0 and turns[2] * turns[3] < 0:
        return (1,)
    touching = (turn == 0 and _inside(x, y, *points) for turn, points in zip(turns, ends, strict=True))
    return (int(any(touching)),)


def _turn(x: list[float], y: list[float], i: int, j: int, k: int) -> int:
    """Return 1 if the way from i over j to k turns left, -1 if right, 0 if it is straight."""
    cross = (x[j] - x[i]) * (y[k] - y[i]) - (y[j] - y[i]) * (x[k] - x[i])
    return (cross > _ZERO) - (cross < -_ZERO)


def _inside(x: list[float], y: list[float], i: int, j: int, k: int) -> bool:
    """Say whether point k lies in the box with the corners i and j."""
    return min(x[i], x[j]) <= x[k] <= max(x[i], x[j]) and min(y[i], y[j]) <= y[k] <= max(y[i], y[j])


def draw_points(rng: np.random.Generator, count: int, n: int) -> Instances:
    """Draw n points, uniform in a disc of radius 2; where three are on a line, all n are drawn again."""
    x, y = np.empty((count, n)), np.empty((count, n))
    left = np.arange(count)
    while len(left):
        angle = 2 * np.pi * rng.random((len(left), n))
        radius = _RADIUS * np.sqrt(rng.random((len(left), n)))
        x[left], y[left] = cut(radius * np.cos(angle)), cut(radius * np.sin(angle))
        left = left[_any_three_on_a_line(x[left], y[left])]
    return list(zip(x.tolist(), y.tolist(), strict=True))


def _any_three_on_a_line(x: Floats, y: Floats) -> NDArray[np.bool_]:
    """Say for each row whether two of the lines through one of its points have the same slope.

    Coordinates in thousandths are integers, and the float nearest to a ratio of small integers is that of no other
    ratio: equal slopes are equal floats.
    """
    x, y = np.rint(1000 * x), np.rint(1000 * y)
    run, rise = x[:, :, None] - x[:, None, :], y[:, :, None] - y[:, None, :]
    slope = np.divide(rise, run, out=np.full_like(run, np.inf), where=run != 0)
    each = np.arange(x.shape[1])
    slope[:, each, each] = np.nan  # equal to nothing, itself included; two points that coincide are on any line
    slope.sort(axis=2)
    same: NDArray[np.bool_] = (slope[:, :, 1:] == slope[:, :, :-1]).any(axis=(1, 2))
    return same


def convex_hull(x: list[float], y: list[float]) -> tuple[list[int]]:
    """Mark the corners of the hull; a point inside an edge is none.

    >>> convex_hull([0, 2, 2, 0, 1, 1], [0, 0, 2, 2, 1, 0])
    ([1, 1, 1, 1, 0, 0],)
    """
    order = sorted(range(len(x)), key=lambda i: (x[i], y[i]))
    marked = [0] * len(x)
    for chain in (order, order[::-1]):
        corners: list[int] = []
        for k in chain:
            while len(corners) > 1 and _turn(x, y, corners[-2], corners[-1], k) <= 0:
                corners.pop()
            corners.append(k)
        for i in corners:
            marked[i] = 1
    return (marked,)
