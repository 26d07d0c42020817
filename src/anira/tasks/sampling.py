"""Random pieces that more than one task draws: sizes under the reference law, and a permutation for every row."""

from typing import Final, Literal, get_args

import numpy as np

from anira.tasks.base import Floats, Ints

SizeLaw = Literal["reference", "uniform"]
SIZE_LAWS: Final = get_args(SizeLaw)

_INDEX: Final = np.uint64(2**16 - 1)  # the low bits of a sort key, which hold an index


def size_weights(low: int, high: int, law: SizeLaw) -> Floats:
    """Return the probability of every size low .. high.

    The reference law has weight 1 / (n + sqrt(high)), so small instances come more often:

    >>> size_weights(3, 30, "reference")[[0, 7, 27]].round(4).tolist()
    [0.0783, 0.0429, 0.0187]
    >>> size_weights(3, 6, "uniform").tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    sizes = np.arange(low, high + 1, dtype=np.float64)
    weights: Floats = 1 / (sizes + np.sqrt(high)) if law == "reference" else np.ones_like(sizes)
    return weights / float(weights.sum())


def draw_sizes(rng: np.random.Generator, count: int, low: int, high: int, law: SizeLaw) -> Ints:
    """Return `count` independent sizes between low and high, both included."""
    edges = np.cumsum(size_weights(low, high, law))[:-1]
    return low + np.searchsorted(edges, rng.random(count), side="right")


def random_order(rng: np.random.Generator, limits: Ints, width: int) -> Ints:
    """Return one permutation a row: of 0 .. limits[r] - 1 uniformly at random, then the rest up to width in order.

    >>> random_order(np.random.default_rng(0), np.array([3, 1]), 4)[:, 3].tolist()
    [3, 3]
    """
    # Random bits and the index they stand for in one number: sorting those is several times faster than `argsort`.
    # Two keys agree in their 48 random bits with probability 2**-48; up to that, the permutation is uniform.
    keys = rng.integers(0, 2**64, size=(len(limits), width), dtype=np.uint64)
    keys &= ~_INDEX
    keys |= np.arange(width, dtype=np.uint64)
    # With all random bits set, a key sorts behind the others, and such keys among themselves by their index.
    keys[np.arange(width) >= limits[:, None]] |= ~_INDEX
    keys.sort(axis=1)
    return (keys & _INDEX).astype(np.int64)
