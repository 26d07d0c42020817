"""What is read from the runs: the tidy table of their strings, and the claim."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import polars as pl

from anira.measure import over_seeds
from anira.measure.claims.knob import Claim
from anira.measure.claims.lano import judge_work
from anira.measure.lano import lano_rows
from anira.measure.statistics.bootstrap import DRAWS
from anira.measure.tidy import make_table

NAMES = {"anira-e": "ANIRA-E", "anira-o": "ANIRA-O"}


class Source(NamedTuple):
    """The records of one run."""

    strings: Path
    """What it wrote."""
    held_out: Path
    """True sentences that it read."""
    untrained: Path | None
    """Depths that untrained models gave its strings."""
    floor: float
    """The least cross-entropy that any model can have, in nats per token."""


@dataclass(frozen=True)
class Found:
    """All runs in numbers."""

    runs: pl.DataFrame
    """The tidy table."""
    seeds: pl.DataFrame
    """The same over seeds."""
    claims: Sequence[Claim]


def measured(sources: Sequence[Source], *, draws: int = DRAWS) -> Found:
    """Measure runs that differ in variant and seed."""
    table = make_table(
        row
        for one in sources
        for row in lano_rows(one.strings, one.held_out, one.untrained, floor=one.floor, draws=draws)
    )
    return Found(table, over_seeds(table), judge_work(table))
