"""What the evaluated tokens cost, against the same model with every token at full depth."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from anira.measure.records.instances import knob_index
from anira.measure.statistics.association import Mean
from anira.measure.statistics.bootstrap import DRAWS, bootstrap
from anira.measure.statistics.estimates import Estimate

RATIOS = {
    "mean_depth": ("iterations", "num_tokens"),
    "iterations_share": ("iterations", "full_iterations"),
    "flops_share": ("flops", "full_flops"),
    "kv_share": ("kv_slots", "full_kv_slots"),
    "decisions_per_token": ("decisions", "num_tokens"),
    "unread_share": ("unread", "iterations"),
}
"""Figure -> (column summed above the line, column summed below it)."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Cost of all tokens of the rows at one knob, or at all (`knob` is None). Ratios of sums over instances."""

    knob: int | None
    tokens: int
    mean_depth: Estimate
    """Execution: iterations executed a token."""
    iterations_share: Estimate
    """Execution: iterations executed, of those at full depth."""
    flops_share: Estimate
    """FLOPs of the whole model, those of the decisions included, of those at full depth."""
    kv_share: Estimate
    """Key-value slots kept in the core, of those at full depth."""
    decisions_per_token: Estimate
    """Decision: how often a decider was asked, a token. The records do not hold the FLOPs of decisions apart."""
    unread_share: Estimate
    """Iterations executed beyond the one that was read out (virtual exits), of those executed."""


def cost_by_knob(table: pl.DataFrame, *, rng: np.random.Generator, draws: int = DRAWS) -> list[Cost]:
    """Return one row a knob and, last, one over all of them."""
    knobs, index = knob_index(table)
    statistics = {}
    for name, (above, below) in RATIOS.items():
        statistics[name] = Mean(table[above], table[below], index, len(knobs), undefined="nothing to compare with")
        whole = np.zeros_like(index)
        statistics[f"{name} overall"] = Mean(table[above], table[below], whole, 1, undefined="nothing to compare with")
    found = bootstrap(statistics, index, rng=rng, draws=draws)
    rows = {name: found[name] + found[f"{name} overall"] for name in RATIOS}
    tokens = np.bincount(index, weights=table["num_tokens"].to_numpy()).astype(int).tolist()
    return [
        Cost(knob=knob, tokens=count, **{name: rows[name][i] for name in RATIOS})
        for i, (knob, count) in enumerate(zip([*knobs, None], [*tokens, sum(tokens)], strict=True))
    ]
