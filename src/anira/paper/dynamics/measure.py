"""What is read from the trainings: their tidy table, and the two claims."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from anira.measure import over_seeds
from anira.measure.claims.knob import Claim
from anira.measure.claims.training import judge_training
from anira.measure.statistics.bootstrap import DRAWS
from anira.measure.training.dynamics import WARMED, training_table

NAMES = {f"{name}{end}": f"{name.upper()}{end}" for end in ("", WARMED) for name in ("anira-e", "anira-o")}
"""Variants, those with a constant gamma first, and what the page calls them."""


@dataclass(frozen=True)
class Found:
    """All trainings in numbers."""

    runs: pl.DataFrame
    """The tidy table."""
    seeds: pl.DataFrame
    """The same over seeds."""
    knobs: Mapping[str, str]
    """What each task calls its knob, and what that counts."""
    claims: Mapping[str, Sequence[Claim]]


def measured(folders: Sequence[Path], knobs: Mapping[str, str], *, draws: int = DRAWS) -> Found:
    """Measure the trainings of runs that differ in task, variant, schedule of gamma and seed."""
    table = training_table(folders, draws=draws)
    return Found(table, over_seeds(table), knobs, judge_training(table))
