"""Whether depth follows the reference solver's state token by token: rank correlations with each probe.

Pooled correlations mix two things: that instances differ, and that tokens within an instance do. The mean of the
correlations within instances has the second only, and the null shuffled within instances shows how much of a pooled
correlation is the first.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from anira.measure.records.loading import Evaluation
from anira.measure.statistics.bootstrap import DRAWS, Statistic, bootstrap
from anira.measure.statistics.estimates import Estimate
from anira.measure.statistics.nulls import Null
from anira.measure.statistics.within import Pairs, mean_of_defined, pooled, shuffled_nulls, within_instances

MEASURES = ("exit_depth", "expected_depth")


@dataclass(frozen=True, kw_only=True)
class ProbeCorrelation:
    """Spearman of depth with one probe, over the tokens where it is defined."""

    probe: str
    measure: str
    """`exit_depth` or `expected_depth`."""
    tokens: int
    instances: int
    """Instances in which both vary, so that a correlation within them exists."""
    pooled: Estimate
    within: Estimate
    """The mean over instances of the correlation within each."""
    null_pooled: Null | None
    """Pooled, with depth shuffled within instances: what differences between instances alone give. May be off zero."""
    null_within: Null | None
    """Within, with depth shuffled within instances: must cover zero."""


def probe_correlations(
    evaluation: Evaluation, table: pl.DataFrame, *, rng: np.random.Generator, draws: int = DRAWS
) -> list[ProbeCorrelation]:
    """Return one row a probe and measure; `table` is the instance table."""
    pairs = list(_pairs(evaluation, table))
    within = [within_instances(pair, len(table)) for pair in pairs]
    statistics: dict[str, Statistic] = {}
    for i, (pair, values) in enumerate(zip(pairs, within, strict=True)):
        statistics[f"pooled {i}"] = pooled(pair, len(table))
        statistics[f"within {i}"] = mean_of_defined(values)
    found = bootstrap(statistics, table["knob"].to_numpy(), rng=rng, draws=draws)
    nulls = shuffled_nulls(pairs, rng)
    return [
        ProbeCorrelation(
            probe=pair.probe,
            measure=pair.measure,
            tokens=len(pair.x),
            instances=int((~np.isnan(values)).sum()),
            pooled=found[f"pooled {i}"][0],
            within=found[f"within {i}"][0],
            null_pooled=nulls[i][0],
            null_within=nulls[i][1],
        )
        for i, (pair, values) in enumerate(zip(pairs, within, strict=True))
    ]


def _pairs(evaluation: Evaluation, table: pl.DataFrame) -> Iterator[Pairs]:
    names = [f"probe_{name}" for name in evaluation.probes]
    if not names:
        return
    rows = table.select("instance_id").with_row_index("instance")
    tokens = evaluation.tokens.select("instance_id", "position", *MEASURES, *names).filter(
        pl.any_horizontal(pl.col(names).is_not_null())
    )
    frame = evaluation.collect(tokens.join(rows.lazy(), on="instance_id").sort("instance", "position"))
    for name in names:
        for measure in MEASURES:
            part = frame.select("instance", measure, name).drop_nulls()
            if len(part):
                x, y = (part[column].cast(pl.Float64).to_numpy() for column in (name, measure))
                yield Pairs(name.removeprefix("probe_"), measure, x, y, part["instance"].cast(pl.Int64).to_numpy())
