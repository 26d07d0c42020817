"""What is read from the runs: the tidy table, pairs of runs on the same instances, and the two claims."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from anira.measure import measure, over_seeds
from anira.measure.claims.extrapolation import judge_generalisation, judge_graceful
from anira.measure.claims.knob import Claim
from anira.measure.extrapolation import drop_rows, pair_rows
from anira.measure.records.reading import Records, read_runs
from anira.measure.statistics.bootstrap import DRAWS
from anira.measure.tidy import make_table

NAMES: Final = {"anira-e": "ANIRA-E", "anira-o": "ANIRA-O", "fixed": "fixed depth", "unshared": "unshared layers"}
ADAPTIVE: Final = ("anira-e", "anira-o")
"""Whom the claim of no generalisation is about; the others are what they are compared with."""
ONLINE: Final = "anira-o"
RIVALS: Final = ("anira-e", "fixed")
"""Those that the paper says ANIRA-O keeps its accuracy longer than."""


@dataclass(frozen=True)
class Found:
    """All variants in numbers."""

    runs: pl.DataFrame
    """The tidy table."""
    seeds: pl.DataFrame
    """The same over seeds."""
    knob: str
    """What the task calls its knob, and what that counts."""
    drops: Sequence[Claim]
    """Of all variants."""
    adaptive: Sequence[Claim]
    graceful: Sequence[Claim]

    @property
    def limit(self) -> int | None:
        """The largest knob of training, where all runs share it and something beyond it was evaluated."""
        ends = self.runs.filter(quantity="drop_beyond").drop_nulls("value")["knob"].unique()
        return int(ends[0]) if len(ends) == 1 else None


def measured(folders: Sequence[Path], knob: str, *, draws: int = DRAWS) -> Found:
    """Measure evaluation folders of runs of one task that differ in variant and seed."""
    records = [run.main for run in read_runs(folders)]
    rows = [row for one in records for row in drop_rows(one)]
    for one, other in _rivals(records):
        rows += pair_rows(one, other, draws=draws)
    table = pl.concat([measure(folders, draws=draws), make_table(rows)])
    drops = {name: judge_generalisation(table.filter(variant=name)) for name in NAMES}
    return Found(
        table,
        over_seeds(table),
        knob,
        drops=[claim for claims in drops.values() for claim in claims],
        adaptive=[claim for name in ADAPTIVE for claim in drops[name]],
        graceful=judge_graceful(table, ONLINE, RIVALS),
    )


def _rivals(records: Sequence[Records]) -> list[tuple[Records, Records]]:
    """Return each run of ANIRA-O with every rival of the same seed."""
    by_name = {(one.labels.variant, one.labels.seed): one for one in records}
    online = [one for one in records if one.labels.variant == ONLINE]
    keys = [(one, (name, one.labels.seed)) for name in RIVALS for one in online]
    return [(one, by_name[key]) for one, key in keys if key in by_name]
