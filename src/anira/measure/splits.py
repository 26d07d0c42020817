"""Over which knobs an estimate goes that is not about one of them.

    knobs evaluated         rows over several knobs
    all of training         split "seen"
    none of training        split "all"
    some of training        both: "seen" over those of training, "all" over every knob

Beyond training accuracy may be gone, so that a depth there says nothing about the task: claims read "seen" where a
table has it.
"""

from typing import Final

import numpy as np
import polars as pl

from anira.measure.statistics.estimates import Ints

SEEN: Final = "seen"
ALL: Final = "all"


def splits(table: pl.DataFrame) -> dict[str, Ints]:
    """Return which instances the rows over several knobs are about, by split.

    >>> {name: kept.tolist() for name, kept in splits(pl.DataFrame({"split": ["seen", "extrapolation"]})).items()}
    {'all': [True, True], 'seen': [True, False]}
    """
    seen = (table["split"] == SEEN).to_numpy()
    if seen.all():
        return {SEEN: seen}
    return {ALL: np.ones_like(seen), **({SEEN: seen} if seen.any() else {})}


def widest(table: pl.DataFrame) -> str:
    """Return the split of rows that are about every instance."""
    return next(iter(splits(table)))
