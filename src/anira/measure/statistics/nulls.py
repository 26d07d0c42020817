"""What a statistic is when there is nothing to find: the same records, shuffled.

Across instances, depth loses its link to the knob and keeps everything else: the null of knob claims. Within
instances, depth loses its link to a token's probe and keeps its instance: the null of token claims. Both are centred
on zero unless the records or the analysis are broken, so both must cover it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from anira.measure.statistics.association import midranks, standardised
from anira.measure.statistics.estimates import LEVEL, Floats, Ints

NULL_DRAWS: Final = 200
"""Shuffles behind a null: enough to see whether it covers zero; its ends are good to a tenth of its width."""


@dataclass(frozen=True)
class Null:
    """The mean of a statistic over shuffled records, and the interval that holds 95% of it."""

    mean: float
    low: float
    high: float

    @staticmethod
    def of(values: Floats) -> "Null | None":
        """Return the null that these shuffles show, or None where the statistic is undefined."""
        if np.isnan(values).any():
            return None
        low, high = map(float, np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]))
        return Null(float(values.mean()), low, high)


def knob_nulls(knob: Floats, depth: Floats, *, rng: np.random.Generator) -> tuple[Null | None, Null | None]:
    """Return the nulls of slope and Spearman with depth shuffled across instances."""
    knob_unit, knob_rank, depth_rank = standardised(knob), standardised(midranks(knob)), standardised(midranks(depth))
    if not len(knob) or np.isnan(depth_rank).any():  # a constant depth has no direction, shuffled or not
        return None, None
    values = np.empty((2, NULL_DRAWS))
    for draw in range(NULL_DRAWS):
        order = rng.permutation(len(depth))
        values[:, draw] = knob_unit @ depth[order], knob_rank @ depth_rank[order]
    values[0] /= np.sqrt(((knob - knob.mean()) ** 2).sum()) or 1.0
    return Null.of(values[0]), Null.of(values[1])


def orders_within(instance: Ints, *, rng: np.random.Generator) -> Iterator[Ints]:
    """Yield random orders of tokens that keep every token in its instance; `instance` is ascending.

    Instances with the same number of tokens are shuffled together as the rows of a matrix.
    """
    starts = np.flatnonzero(np.diff(instance, prepend=-1))
    sizes = np.diff(starts, append=len(instance))
    blocks = [starts[sizes == size][:, None] + np.arange(size) for size in np.unique(sizes)]
    for _ in range(NULL_DRAWS):
        order = np.empty(len(instance), dtype=np.int64)
        for block in blocks:
            order[block] = rng.permuted(block, axis=1)
        yield order
