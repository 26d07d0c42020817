"""What a rank correlation is in models that were never trained.

What a token is correlates with what comes next, and with random weights depth follows what a token is. Neither
intervals nor nulls see this: intervals are about other strings, and shuffling breaks the link of depth and token. So
the same tokens are read by freshly initialised models, and what these have is the least that a trained one must exceed.

The depths that they gave are kept in one Parquet file: `instance_id`, `position`, and a column a model.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from anira.measure.statistics.association import midranks, standardised
from anira.measure.statistics.estimates import Floats, Ints
from anira.measure.statistics.partial import GivenGroup
from anira.measure.statistics.within import Pairs

UNTRAINED: Final = "untrained_"
"""Begins the columns of expected depths, one a model; the seed of its weights follows."""


@dataclass(frozen=True, kw_only=True)
class Untrained:
    """Correlations of one proxy with the expected depths of untrained models, one a model; None where undefined."""

    pooled: tuple[float | None, ...]
    given_input: tuple[float | None, ...]


def untrained_correlations(pairs: Pairs, depths: Sequence[Floats], input_id: Ints) -> Untrained:
    """Return what untrained models have on the tokens of `pairs`; `depths` has theirs, an array a model."""
    own = [replace(pairs, y=depth) for depth in depths]
    return Untrained(
        pooled=tuple(_defined(float(standardised(midranks(one.x)) @ standardised(midranks(one.y)))) for one in own),
        given_input=tuple(_defined(_given_group(one, input_id)) for one in own),
    )


class Span(NamedTuple):
    """Where some values lie."""

    mean: float
    low: float
    high: float


def span(values: Sequence[float | None]) -> Span | None:
    """Return mean, smallest and largest of the values that are defined, or None where there is none.

    >>> span([0.1, None, -0.1])
    Span(mean=0.0, low=-0.1, high=0.1)
    """
    found = [value for value in values if value is not None]
    return Span(sum(found) / len(found), min(found), max(found)) if found else None


def _given_group(pairs: Pairs, group: Ints) -> float:
    strings = int(pairs.instance.max(initial=-1)) + 1
    return float(GivenGroup(pairs, group, strings)(np.ones((strings, 1)))[0, 0])


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value
