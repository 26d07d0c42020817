"""What is read from the runs: depth by the state of the parse, size against work, and the claim."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from anira.measure import over_seeds, verdict_rows
from anira.measure.claims.knob import Claim
from anira.measure.claims.parse_state import judge_reading
from anira.measure.mano.parse_state import parse_state_rows
from anira.measure.mano.work import work_rows
from anira.measure.records.reading import read_runs
from anira.measure.statistics.bootstrap import DRAWS
from anira.measure.tidy import Row, make_table

NAMES: Final = {"anira-e": "ANIRA-E", "anira-o": "ANIRA-O"}
PAPER: Final = {
    "operand r=1 constant": 2.678,
    "operand r=2 constant": 1.511,
    "operator r=0 constant": 1.000,
    "operator r=1 constant": 4.088,
    "operator r=1 s_t": 0.625,
    "operator r=1 d_t": 0.261,
    "operator r=2 constant": 1.104,
    "operator r=2 d_t": 0.337,
}
"""Term of the piecewise model -> the paper's coefficient for ANIRA-E."""
PAPER_R2: Final = 0.63


@dataclass(frozen=True)
class Found:
    """All runs in numbers."""

    runs: pl.DataFrame
    """The tidy table."""
    seeds: pl.DataFrame
    """The same over seeds."""
    claims: Mapping[tuple[str, str, str], Claim]
    """By setting, contrast and form."""


def measured(folders: Sequence[Path], *, draws: int = DRAWS) -> Found:
    """Measure evaluation folders of runs of MANO that differ in variant and seed."""
    table = make_table(_rows(folders, draws))
    return Found(table, over_seeds(table), judge_reading(table))


def _rows(folders: Sequence[Path], draws: int) -> Iterator[Row]:
    for run in read_runs(folders):
        yield from parse_state_rows(run.main, draws=draws)
        yield from work_rows(run.main)
        yield from verdict_rows(run, draws=draws)
