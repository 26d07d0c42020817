"""Claims about training as rules over rows of the tidy table: sizes from easy to hard, and two phases."""

from typing import Final

import polars as pl

from anira.measure.claims.alignment import NOT_LEARNED, judge_each, learned
from anira.measure.claims.verdict import SEEDS_NEEDED, Claim, Evidence
from anira.measure.statistics.estimates import Estimate
from anira.measure.tidy import estimate, find

LARGEST_CHANCE: Final = 0.05 ** (1 / SEEDS_NEEDED)
"""An order that comes by chance more often is uninformative: as many seeds as a verdict needs would all have it in more
than one case of twenty."""
_TEXTS: Final = {
    "easy-to-hard": "Kendall's tau of the step at which a size is learned and the size.",
    "two-phases": "The smaller of rise and fall of depth, iterations; no fall where accuracy surely fell with it.",
}


def judge_training(table: pl.DataFrame) -> dict[str, list[Claim]]:
    """Return for each setting, over its seeds, whether small sizes come first and whether depth rises and falls."""
    rules = {"easy-to-hard": _order, "two-phases": _phases}
    return {key: judge_each(table, key, _TEXTS[key], say) for key, say in rules.items()}


def _order(run: pl.DataFrame) -> Evidence:
    chance = find(run, "order_by_chance")["value"] or 0.0
    why = f"an order as good comes by chance in {chance:.0%} of all cases" if chance > LARGEST_CHANCE else ""
    return Evidence(run["seed"][0], estimate(find(run, "kendall_order")), _unlearned(run) or why)


def _phases(run: pl.DataFrame) -> Evidence:
    steps = find(run, "gamma_warmup")["value"]
    why = f"\u03b3 rises over the first {steps:,.0f} steps, which makes phases by itself" if steps else ""
    return Evidence(run["seed"][0], _weaker(run), why or _unlearned(run))


def _weaker(run: pl.DataFrame) -> Estimate:
    """Return the smaller of rise and fall; where accuracy surely fell with depth, the fall counts as none."""
    rise, fall, kept = (estimate(find(run, name)) for name in ("depth_rise", "depth_fall", "accuracy_kept"))
    if rise.value is None or fall.value is None:
        return Estimate(None, reason=rise.reason or fall.reason)
    return Estimate(min(rise.value, fall.value, *([0.0] if kept.direction < 0 else [])))


def _unlearned(run: pl.DataFrame) -> str:
    return "" if learned(run) else NOT_LEARNED
