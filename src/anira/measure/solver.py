"""Whether depth follows the reference solver's state token by token: rank correlations with each probe.

Pooled correlations mix two things: that instances differ, and that tokens within an instance do. The mean of the
correlations within instances has the second only, and the null shuffled within instances shows how much of a pooled
correlation is the first.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import polars as pl

from anira.measure.records.reading import Records
from anira.measure.splits import widest
from anira.measure.statistics.bootstrap import Statistic, bootstrap
from anira.measure.statistics.within import Pairs, mean_of_defined, pooled, shuffled_nulls, within_instances
from anira.measure.tidy import Row, make_row

_MEASURES: Final = {
    "exit_depth": ("probe_pooled", "probe_within"),
    "expected_depth": ("expected_probe_pooled", "expected_probe_within"),
}
"""Depth of a token -> the quantities that say how it moves with a probe; the subset names the probe."""


def probe_rows(one: Records, *, rng: np.random.Generator, draws: int) -> Iterator[Row]:
    """Yield the rank correlation of depth with each probe, pooled and within instances.

    The null of the first is what differences between instances alone give, and may be off zero.
    """
    table = one.instances
    pairs = list(_pairs(one))
    within = [within_instances(pair, len(table)) for pair in pairs]
    statistics: dict[str, Statistic] = {}
    for i, (pair, values) in enumerate(zip(pairs, within, strict=True)):
        statistics[f"pooled {i}"] = pooled(pair, len(table))
        statistics[f"within {i}"] = mean_of_defined(values)
    found = bootstrap(statistics, table["knob"].to_numpy(), rng=rng, draws=draws)
    nulls = shuffled_nulls(pairs, rng)
    split = widest(table)
    for i, (pair, values) in enumerate(zip(pairs, within, strict=True)):
        counts = len(pair.x), int((~np.isnan(values)).sum())  # tokens; instances in which both vary
        estimates = found[f"pooled {i}"][0], found[f"within {i}"][0]
        for name, estimate, null, n in zip(_MEASURES[pair.measure], estimates, nulls[i], counts, strict=True):
            yield make_row(one.labels, name, estimate, n=n, split=split, subset=pair.probe, null=null)


def _pairs(one: Records) -> Iterator[Pairs]:
    names = [f"probe_{name}" for name in one.evaluation.probes]
    if not names:
        return
    rows = one.instances.select("instance_id").with_row_index("instance")
    tokens = one.evaluation.tokens.select("instance_id", "position", *_MEASURES, *names).filter(
        pl.any_horizontal(pl.col(names).is_not_null())
    )
    frame = one.evaluation.collect(tokens.join(rows.lazy(), on="instance_id").sort("instance", "position"))
    for name in names:
        for measure in _MEASURES:
            part = frame.select("instance", measure, name).drop_nulls()
            if len(part):
                # As narrow as the records are: of millions of tokens these arrays are what fills the memory.
                x, y = (part[column].cast(pl.Float32).to_numpy() for column in (name, measure))
                yield Pairs(name.removeprefix("probe_"), measure, x, y, part["instance"].cast(pl.Int32).to_numpy())
