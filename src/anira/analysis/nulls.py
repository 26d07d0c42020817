"""What a statistic is when there is nothing to find: the same records, shuffled.

Across instances, depth loses its link to the knob and keeps everything else: the null of knob claims. Within
instances, depth loses its link to a token's probe and keeps its instance: the null of token claims. Both are centred
on zero unless the records or the analysis are broken, so both must cover it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from anira.analysis.association import midranks, standardised
from anira.analysis.intervals import LEVEL, Floats, Ints

WITHIN_DRAWS: Final = 200
_CHUNK = 4_000_000  # indices in memory at a time


@dataclass(frozen=True)
class Null:
    """The mean of a statistic over shuffled records, and the interval that holds 95% of it."""

    mean: float
    low: float
    high: float

    @property
    def covers_zero(self) -> bool:
        """Whether zero lies in the interval."""
        return self.low <= 0 <= self.high

    def text(self, digits: int = 2) -> str:
        """Write the mean and the interval with so many decimals."""
        return f"{self.mean:.{digits}f} [{self.low:.{digits}f}, {self.high:.{digits}f}]"

    @staticmethod
    def of(values: Floats) -> "Null | None":
        """Return the null that these shuffles show, or None where the statistic is undefined."""
        if np.isnan(values).any():
            return None
        low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        return Null(float(values.mean()), float(low), float(high))


def nulls_cover_zero(nulls: list[Null | None]) -> bool:
    """Say whether every null that is defined covers zero: if not, no claim that rests on them can be believed."""
    return all(null.covers_zero for null in nulls if null is not None)


def knob_nulls(knob: Floats, depth: Floats, *, rng: np.random.Generator, draws: int) -> tuple[Null | None, Null | None]:
    """Return the nulls of slope and Spearman with depth shuffled across instances."""
    knob_unit, knob_rank = standardised(knob), standardised(midranks(knob))
    rank = standardised(midranks(depth))
    slopes, correlations = [], []
    for order in _orders(len(knob), draws, rng):
        slopes.append(depth[order] @ knob_unit)
        correlations.append(rank[order] @ knob_rank)
    if not slopes or np.isnan(rank).any():  # a constant depth has no direction, shuffled or not
        return None, None
    length = np.sqrt(((knob - knob.mean()) ** 2).sum())
    return Null.of(np.concatenate(slopes) / length), Null.of(np.concatenate(correlations))


def _orders(size: int, draws: int, rng: np.random.Generator) -> Iterator[Ints]:
    """Yield random orders of `size` instances, some at a time (orders, size)."""
    step = max(1, _CHUNK // max(size, 1))
    for start in range(0, draws if size else 0, step):
        yield rng.permuted(np.broadcast_to(np.arange(size), (min(step, draws - start), size)), axis=1)


def orders_within(instance: Ints, draws: int, rng: np.random.Generator) -> Iterator[Ints]:
    """Yield random orders of tokens that keep every token in its instance; `instance` is ascending.

    Instances with the same number of tokens are shuffled together as the rows of a matrix.
    """
    starts = np.flatnonzero(np.diff(instance, prepend=-1))
    sizes = np.diff(starts, append=len(instance))
    blocks = [starts[sizes == size][:, None] + np.arange(size) for size in np.unique(sizes)]
    for _ in range(draws):
        order = np.empty(len(instance), dtype=np.int64)
        for block in blocks:
            order[block] = rng.permuted(block, axis=1)
        yield order
