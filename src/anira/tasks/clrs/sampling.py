"""Random pieces that several algorithms' inputs are made of.

Inputs are cut to 3 decimals before anything is solved, so that the text of a question determines its answer. For one
instance the order of draws is that of dm-clrs: fed with its random stream, these functions make its very instances.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from anira.tasks.base import Floats, Ints

Instances = list[tuple[Any, ...]]  # the values of an algorithm's inputs, in their order

_COMMUNITIES = 4
_TOGGLED = 0.01


def cut(values: Floats) -> Floats:
    """Cut to 3 decimals, towards zero; as upstream, which writes it, a zero keeps its sign.

    >>> cut(np.array([0.1239, -0.4567, -0.0001])).tolist()
    [0.123, -0.456, -0.0]
    """
    return np.trunc(values * 1000) / 1000


def draw_keys(rng: np.random.Generator, count: int, n: int) -> Instances:
    """Draw `count` lists of n reals, uniform on 0 .. 1."""
    return [(row,) for row in cut(rng.random((count, n))).tolist()]


def coins(rng: np.random.Generator, count: int, n: int, p: float) -> Ints:
    """Draw matrices whose entries are 1 with probability p."""
    return (rng.random((count, n, n)) > 1 - p).astype(np.int64)


def undirected(rng: np.random.Generator, count: int, n: int, p: float) -> Ints:
    """Draw symmetric matrices: an edge where both coins show 1, so with probability p**2; loops with p."""
    mat = coins(rng, count, n, p)
    return mat * mat.swapaxes(1, 2)


def undirected_weights(rng: np.random.Generator, count: int, n: int, p: float) -> Floats:
    """Draw symmetric weights: sqrt(u_ij u_ji + 0.001), at least 0.031, at the edges of `undirected`."""
    mat = undirected(rng, count, n, p)
    u = rng.random((count, n, n))
    return cut(np.sqrt(u * u.swapaxes(1, 2) + 1e-3) * mat)


def acyclic(rng: np.random.Generator, count: int, n: int) -> Ints:
    """Draw directed acyclic graphs: an edge with probability 1/2 wherever a hidden order allows one."""
    return shuffled(rng, np.triu(coins(rng, count, n, 0.5), k=1))


def communities(rng: np.random.Generator, count: int, n: int) -> Ints:
    """Draw directed graphs of up to 4 communities, with an edge inside with probability 1/2.

    An entry at or after its own community is toggled with probability 0.01, so no new cycle joins two of them.
    """
    groups = min(_COMMUNITIES, n)
    starts = [n // groups * group for group in range(groups)] + [n]
    mat = np.zeros((count, n, n), dtype=np.int64)
    for low, high in pairwise(starts):
        mat[:, low:high, low:high] = coins(rng, count, high - low, 0.5)
    toggle = coins(rng, count, n, _TOGGLED)
    for low, high in pairwise(starts):
        toggle[:, low:high, :low] = 0
    return shuffled(rng, mat ^ toggle)


def shuffled(rng: np.random.Generator, mat: Ints) -> Ints:
    """Give the nodes of every graph new names in random order."""
    orders = [rng.permutation(mat.shape[1]) for _ in mat]
    return np.stack([one[order][:, order] for one, order in zip(mat, orders, strict=True)])


def with_source(rng: np.random.Generator, mat: Ints | Floats) -> Instances:
    """Return `(source, matrix)` pairs, the source uniform over the nodes."""
    sources = rng.integers(0, mat.shape[1], size=len(mat))
    return list(zip(sources.tolist(), mat.tolist(), strict=True))
