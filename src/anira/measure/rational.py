"""Rational depth: what the chosen depths cost beyond the cheapest ones, and beyond the best constant depth.

The cost of a depth at an answer token is its cross-entropy with every token forced to that depth, plus a price per
iteration. Regret is the cost of the chosen depth minus the least cost over depths.

depth              1      2      3      4
CE + 0.02 d        1.32   0.44   0.46   0.28     regret of exit depth 2: 0.44 - 0.28 = 0.16, and it stopped too early
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from anira.measure.records.reading import RunRecords
from anira.measure.required import instance_mean, missing_depths, undefined_rows
from anira.measure.statistics.estimates import Estimate, Floats
from anira.measure.tidy import Row, make_row

TOLERATED: Final = 0.01
"""Nats of regret up to which a depth counts as right."""
_QUANTITIES: Final = ("regret", "regret_constant", "regret_less_constant", "too_early", "too_late")


@dataclass(frozen=True)
class Costs:
    """What each depth would cost at each answer token of the knobs of training."""

    tokens: pl.DataFrame
    """knob, number, position, exit_depth."""
    depths: Floats
    by_depth: Floats
    """Tokens x depths."""

    @property
    def least(self) -> Floats:
        """The least cost of each token."""
        return np.asarray(self.by_depth.min(axis=1))

    @property
    def chosen(self) -> Floats:
        """The cost of each token's own depth."""
        own = np.searchsorted(self.depths, self.tokens["exit_depth"].to_numpy())
        return self.by_depth[np.arange(len(own)), own]


def rational_rows(
    run: RunRecords, *, price: float, rng: np.random.Generator, constant_rng: np.random.Generator, draws: int
) -> Iterator[Row]:
    """Yield the regret of the chosen depths and of the best constant one, and who stops too early or too late."""
    costs = _costs(run, price)
    if isinstance(costs, str):
        yield from undefined_rows(run.main, costs, *_QUANTITIES)
        return
    skipped = len(run.main.answers.filter(pl.col("split") == "seen")) - len(costs.tokens)
    reason = f"price {price:g} nats per iteration"
    caveat = f"; {skipped} answer tokens without a forced depth are left out" if skipped else ""
    yield _mean_row(run, "regret", costs, costs.chosen - costs.least, reason + caveat, rng, draws)
    yield from _constant_rows(run, costs, reason, constant_rng, draws)
    yield from _stopping_rows(run, costs, reason)


def _constant_rows(run: RunRecords, costs: Costs, reason: str, rng: np.random.Generator, draws: int) -> Iterator[Row]:
    """Yield the regret of the best constant depth, and what the chosen depths have more of it on the same tokens.

    The constant is chosen on the tokens that it is judged by, which favours it a little.
    """
    best = int(costs.by_depth.mean(axis=0).argmin())
    constant, reason = costs.by_depth[:, best], f"depth {costs.depths[best]:g}; {reason}"
    yield _mean_row(run, "regret_constant", costs, constant - costs.least, reason, rng, draws)
    yield _mean_row(run, "regret_less_constant", costs, costs.chosen - constant, reason, rng, draws)


def _stopping_rows(run: RunRecords, costs: Costs, reason: str) -> Iterator[Row]:
    """Yield, by knob and over knobs, the shares of answer tokens that stop too early and too late."""
    gap = costs.tokens["exit_depth"].to_numpy() - costs.depths[costs.by_depth.argmin(axis=1)]
    wrong, knobs = costs.chosen - costs.least > TOLERATED, costs.tokens["knob"].to_numpy()
    for name, hits in {"too_early": wrong & (gap < 0), "too_late": wrong & (gap > 0)}.items():
        for knob in [*costs.tokens["knob"].unique().sort(), None]:
            part = hits if knob is None else hits[knobs == knob]
            yield make_row(
                run.main.labels,
                name,
                Estimate(float(part.mean())),
                n=len(part),
                knob=knob,
                subset="answer",
                reason=reason,
            )


def _costs(run: RunRecords, price: float) -> Costs | str:
    """Return the costs of all depths, or why they cannot be told."""
    missing = missing_depths(run)
    if missing:
        return missing
    if run.main.answers["ce"].null_count():
        return "the records have no cross-entropy"
    depths = list(run.forced)
    table = run.main.answers.filter((pl.col("split") == "seen") & pl.col("exit_depth").is_in(depths))
    table = table.select("knob", "number", "position", "exit_depth")
    for depth, one in run.forced.items():
        other = one.answers.select("knob", "number", "position", pl.col("ce").cast(pl.Float64).alias(f"ce_{depth}"))
        table = table.join(other, on=["knob", "number", "position"])
    table = table.drop_nulls().sort("knob", "number", "position")
    if table.is_empty():
        return "no answer token has a forced depth that it chose"
    entropies = table.select(f"ce_{depth}" for depth in depths).to_numpy()
    return Costs(
        table.select("knob", "number", "position", "exit_depth"),
        np.array(depths, dtype=np.float64),
        entropies + price * np.array(depths),
    )


def _mean_row(
    run: RunRecords, name: str, costs: Costs, values: Floats, reason: str, rng: np.random.Generator, draws: int
) -> Row:
    """Return a mean per answer token, resampled by instance."""
    sums = (
        costs.tokens.with_columns(value=pl.Series(values))
        .group_by("knob", "number", maintain_order=True)
        .agg(pl.col("value").sum(), tokens=pl.len())
    )
    estimate = instance_mean(sums["value"].to_numpy(), sums, rng, draws, counts=sums["tokens"].to_numpy())
    return make_row(run.main.labels, name, estimate, n=len(sums), subset="answer", reason=reason)
