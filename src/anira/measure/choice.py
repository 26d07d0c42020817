"""What the policy's own choice brings and takes: accuracy, depth and cost, by knob and over knobs."""

from collections.abc import Iterator
from functools import partial
from typing import Final

import numpy as np
import polars as pl

from anira.measure.records.instances import knob_index
from anira.measure.records.reading import Records
from anira.measure.splits import splits
from anira.measure.statistics.association import Mean
from anira.measure.statistics.bootstrap import bootstrap
from anira.measure.statistics.estimates import Estimate, Ints, proportion
from anira.measure.tidy import Row, make_row

_RATIOS: Final = {
    "iterations": ("iterations", "num_tokens"),
    "flops": ("flops", "num_tokens"),
    "kv_slots": ("kv_slots", "num_tokens"),
    "decisions": ("decisions", "num_tokens"),
    "iterations_share": ("iterations", "full_iterations"),
    "flops_share": ("flops", "full_flops"),
    "kv_share": ("kv_slots", "full_kv_slots"),
    "unread_share": ("unread", "iterations"),
}
"""Quantity -> the column that is summed above the line, and the one below it."""
_HELD_OUT: Final = "meta_held_out"
_NO_SEEN: Final = "no knob of training was evaluated"
Part = tuple[str, int | None, pl.DataFrame]
"""Split, knob, and the instances there."""


def parts(table: pl.DataFrame) -> Iterator[Part]:
    """Yield the instances at each knob, then those over several (splits.py)."""
    for (knob, split), part in table.group_by("knob", "split", maintain_order=True):
        assert isinstance(knob, int)
        yield str(split), knob, part
    for split, kept in splits(table).items():
        yield split, None, table.filter(pl.Series(kept))


def accuracy_rows(one: Records, name: str = "accuracy", subset: str = "all") -> Iterator[Row]:
    """Yield the share of right answers with its Wilson interval."""
    for split, knob, part in parts(one.instances):
        yield make_row(one.labels, name, share(part), n=len(part), split=split, knob=knob, subset=subset)


def baseline_rows(one: Records) -> Iterator[Row]:
    """Yield what accuracy is held against: the commonest answer, the lenient rule, questions kept from training."""
    for split, knob, part in parts(one.instances):
        row = partial(make_row, one.labels, n=len(part), split=split, knob=knob)
        yield row("majority", majority(part))
        yield row("lenient_accuracy", share(part, "lenient_correct"))
        known = part["seen_in_training"].drop_nulls()
        if len(known):
            yield row("seen_in_training", Estimate(float(known.cast(pl.Float64).sum()) / len(known)))
        held_out = part.filter(pl.col(_HELD_OUT) == 1) if _HELD_OUT in part.columns else part.clear()
        if len(held_out):
            yield row("held_out_accuracy", share(held_out), n=len(held_out))


def hardest_rows(one: Records) -> Iterator[Row]:
    """Yield accuracy at the hardest knob of training, once more under a name of its own."""
    hardest = one.hardest
    part = one.seen.filter(pl.col("knob") == hardest)
    estimate = Estimate(None, reason=_NO_SEEN) if hardest is None else share(part)
    yield make_row(one.labels, "accuracy_hardest", estimate, n=len(part), knob=hardest)


def depth_rows(one: Records, *, rng: np.random.Generator, draws: int) -> Iterator[Row]:
    """Yield mean depth: of answer tokens (of right answers too), of prompt tokens, and the expected depth."""
    table = one.instances
    correct = table["correct"].to_numpy()
    everyone = np.ones_like(correct)
    columns = {
        ("depth", "answer"): ("answer", everyone),
        ("depth", "right"): ("answer", correct),
        ("depth", "prompt"): ("prompt", everyone),
        ("expected_depth", "answer"): ("expected", everyone),
    }
    means = {
        key: (table[f"{name}_depth"], table[f"{name}_tokens"], kept, "no such tokens")
        for key, (name, kept) in columns.items()
    }
    yield from _mean_rows(one, means, rng, draws)


def cost_rows(one: Records, *, rng: np.random.Generator, draws: int) -> Iterator[Row]:
    """Yield what tokens cost, as ratios of sums over instances."""
    everyone = np.ones(len(one.instances), dtype=bool)
    means = {
        (name, "all"): (one.instances[above], one.instances[below], everyone, "nothing to compare with")
        for name, (above, below) in _RATIOS.items()
    }
    yield from _mean_rows(one, means, rng, draws)


def constancy_rows(one: Records) -> Iterator[Row]:
    """Yield how many of the tokens have the most common depth: all of them, for a policy that has collapsed."""
    total = sum(one.depths.values())
    yield make_row(one.labels, "modal_share", Estimate(max(one.depths.values()) / total), n=total)


def _mean_rows(
    one: Records,
    means: dict[tuple[str, str], tuple[pl.Series, pl.Series, Ints, str]],
    rng: np.random.Generator,
    draws: int,
) -> Iterator[Row]:
    """Yield ratios of sums by knob and over knobs; all of them see the same resamples."""
    table = one.instances
    knobs, index = knob_index(table)
    over = splits(table)
    statistics = {}
    for (name, subset), (above, below, kept, undefined) in means.items():
        groups = {"": (index, len(knobs)), **{split: (np.where(rows, 0, -1), 1) for split, rows in over.items()}}
        for split, (group, count) in groups.items():
            chosen = np.where(kept, group, -1)
            statistics[f"{name} {subset} {split}"] = Mean(above, below, chosen, count, undefined=undefined)
    found = bootstrap(statistics, index, rng=rng, draws=draws)
    by_knob = table.group_by("split", "knob").agg(pl.len()).sort("knob").rows()
    places = [*by_knob, *((split, None, int(rows.sum())) for split, rows in over.items())]
    for name, subset in means:
        estimates = [*found[f"{name} {subset} "], *(found[f"{name} {subset} {split}"][0] for split in over)]
        for (split, knob, size), estimate in zip(places, estimates, strict=True):
            yield make_row(one.labels, name, estimate, n=size, split=split, knob=knob, subset=subset)


def majority(part: pl.DataFrame) -> Estimate:
    """Return the share of the commonest answer; the baseline knows the knob, and gives each its own."""
    commonest = part.group_by("knob").agg(pl.col("answer").unique_counts().max())["answer"].sum()
    return Estimate(float(commonest) / len(part))


def share(part: pl.DataFrame, column: str = "correct") -> Estimate:
    """Return the share of instances that are right, with its Wilson interval."""
    return proportion(int(part[column].sum()), len(part))
