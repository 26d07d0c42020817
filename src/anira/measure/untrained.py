"""What a rank correlation is in models that were never trained.

What a token is correlates with what comes next, and with random weights depth follows what a token is. Neither
intervals nor shuffling see this: intervals are about other strings, and shuffling breaks the link of depth and token.
So freshly initialised models read the same tokens, and a trained one must exceed what they have.

The depths that they gave are kept in one Parquet file: `instance_id`, `position`, and a column per model.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from anira.measure.statistics.association import rank_correlation
from anira.measure.statistics.estimates import Floats, Ints
from anira.measure.statistics.nulls import Null
from anira.measure.statistics.partial import GivenGroup
from anira.measure.statistics.within import Pairs

UNTRAINED: Final = "untrained_"
"""Begins the columns of expected depths, one per model; the seed of its weights follows."""


def untrained_ranges(pairs: Pairs, depths: Sequence[Floats], input_id: Ints) -> tuple[Null | None, Null | None]:
    """Return between which values the correlations of untrained models lie: pooled, and given the last token.

    `depths` has those that each model gave the tokens of `pairs`. None where no model has a correlation.
    """
    own = [replace(pairs, y=depth) for depth in depths if len(depth)]
    whole = np.ones((int(pairs.instance.max(initial=-1)) + 1, 1))
    given = [float(GivenGroup(one, input_id, len(whole))(whole)[0, 0]) for one in own]
    return _range([rank_correlation(one.x, one.y) for one in own]), _range(given)


def _range(values: Sequence[float]) -> Null | None:
    """Return mean, smallest and largest of the values that are defined.

    >>> _range([0.1, float("nan"), -0.1])
    Null(mean=0.0, low=-0.1, high=0.1)
    """
    found = [value for value in values if not np.isnan(value)]
    return Null(sum(found) / len(found), min(found), max(found)) if found else None
