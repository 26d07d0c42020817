"""What is read from the runs: the tidy table of each task, and the two claims."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from anira.measure import measure, over_seeds
from anira.measure.claims.alignment import judge_follows, judge_less_depth
from anira.measure.claims.knob import Claim

VARIANTS: Final = ("anira-e", "anira-o")


@dataclass(frozen=True)
class Found:
    """All tasks in numbers."""

    runs: pl.DataFrame
    """The tidy table."""
    seeds: pl.DataFrame
    """The same over seeds."""
    knobs: Mapping[str, str]
    """What each task calls its knob, and what that counts."""
    follows: Sequence[Claim]
    less: Sequence[Claim]


def measured(folders: Sequence[Path], knobs: Mapping[str, str], *, draws: int = 1000) -> Found:
    """Measure evaluation folders of runs that differ in task, variant and seed."""
    table = measure(folders, draws=draws)
    return Found(table, over_seeds(table), knobs, judge_follows(table), judge_less_depth(table, *VARIANTS))
