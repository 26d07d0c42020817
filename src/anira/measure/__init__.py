"""From records to the tidy table: one row per estimate, read by pages, CSV files and verdicts alike.

table = measure(Path("runs/words-anira-o-cpu/1f2e3d4c-s0"))
table.filter(quantity="accuracy").select("knob", "value", "low", "high")
over_seeds(measure(runs)).filter(quantity="need")
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from anira.measure import alignment, choice, rational, required, solver
from anira.measure.construction import explained
from anira.measure.quantities import QUANTITIES, Quantity, quantity
from anira.measure.records.reading import Records, RunRecords, read_runs
from anira.measure.seeds import FEWEST, over_seeds
from anira.measure.statistics.bootstrap import DRAWS
from anira.measure.statistics.estimates import Estimate
from anira.measure.tidy import SCHEMA, Row, make_row, make_table

PRICE: Final = 0.02
"""Nats that one iteration is taken to be worth, for regret."""
NEED: Final = 0.1
"""Accuracy that depth 1 must lose at the hardest knob before a word about alignment."""

__all__ = [
    "DRAWS",
    "FEWEST",
    "NEED",
    "PRICE",
    "QUANTITIES",
    "SCHEMA",
    "Quantity",
    "Row",
    "make_table",
    "measure",
    "over_seeds",
    "quantity",
    "verdict_rows",
]


def measure(
    records: str | Path | Sequence[str | Path],
    *,
    price: float = PRICE,
    draws: int = DRAWS,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> pl.DataFrame:
    """Return the tidy table of an evaluation folder, a run folder, or a list of either.

    Of a run folder, all complete evaluations at the step of its main one are read. `seed` is that of resampling:
    equal records give equal tables. `progress` is called with 1 after each run.
    """
    rows: list[Row] = []
    for run in read_runs(records):
        rows += _rows(run, price, seed, draws)
        if progress is not None:
            progress(1)
    return make_table(map(explained, rows))


def evaluation_rows(one: Records, *, draws: int = DRAWS, seed: int = 0) -> Iterator[Row]:
    """Yield all estimates of one evaluation by itself."""
    # A stream for each part: an estimate does not depend on which others are made.
    depth_rng, knob_rng, probe_rng, cost_rng = np.random.default_rng(seed).spawn(4)
    yield from choice.accuracy_rows(one)
    yield from choice.baseline_rows(one)
    yield from choice.hardest_rows(one)
    yield from choice.depth_rows(one, rng=depth_rng, draws=draws)
    yield from choice.cost_rows(one, rng=cost_rng, draws=draws)
    yield from choice.constancy_rows(one)
    yield from alignment.alignment_rows(one, rng=knob_rng, draws=draws)
    yield from alignment.position_rows(one)
    yield from solver.probe_rows(one, rng=probe_rng, draws=draws)


def verdict_rows(run: RunRecords, *, draws: int = DRAWS, seed: int = 0) -> Iterator[Row]:
    """Yield those rows of `measure` by which a verdict knows whether a run can be judged; they cost little."""
    streams = np.random.default_rng(seed).spawn(5)
    yield from choice.accuracy_rows(run.main)
    yield from choice.baseline_rows(run.main)
    yield from alignment.alignment_rows(run.main, rng=streams[1], draws=draws)
    yield from required.need_rows(run, rng=streams[4], draws=draws)


def _rows(run: RunRecords, price: float, seed: int, draws: int) -> Iterator[Row]:
    rng, constant_rng = np.random.default_rng(seed).spawn(6)[4:]
    yield make_row(run.main.labels, "max_depth", Estimate(float(run.main.max_depth)), n=1)
    for one in run.own:
        yield from evaluation_rows(one, draws=draws, seed=seed)
    yield from required.forced_rows(run)
    yield from required.settled_rows(run)
    yield from required.need_rows(run, rng=rng, draws=draws)
    yield from required.oracle_rows(run, rng=rng, draws=draws)
    yield from rational.rational_rows(run, price=price, rng=rng, constant_rng=constant_rng, draws=draws)
    yield from required.exit_rows(run, rng=rng, draws=draws)
