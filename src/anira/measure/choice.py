"""What the policy's own choice brings and takes: accuracy, depth and cost."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from anira.measure.records.instances import instance_means, knob_index
from anira.measure.records.reading import Records
from anira.measure.statistics.association import Mean, Slope, Spearman
from anira.measure.statistics.bootstrap import bootstrap
from anira.measure.statistics.estimates import Estimate, proportion
from anira.measure.statistics.nulls import knob_nulls
from anira.measure.tidy import Row, make_row

_SUMS: Final = {
    "iterations": "iterations",
    "flops": "flops",
    "kv_slots": "kv_slots",
    "decisions": "decisions",
}
"""Quantity per token -> the column that is summed."""
_NO_SEEN = "no knob of training was evaluated"


def accuracy_rows(one: Records, name: str = "accuracy", subset: str = "all") -> Iterator[Row]:
    """Yield the share of right answers by knob and over the knobs of training, with Wilson intervals."""
    for (knob, split), part in one.instances.group_by("knob", "split", maintain_order=True):
        share = proportion(int(part["correct"].sum()), len(part))
        yield make_row(one.labels, name, share, n=len(part), split=str(split), knob=_whole(knob), subset=subset)
    yield make_row(one.labels, name, _share(one, None), n=len(one.seen), subset=subset)


def hardest_rows(one: Records) -> Iterator[Row]:
    """Yield accuracy at the hardest knob of training, once more under a name of its own."""
    hardest = one.hardest
    estimate = Estimate(None, reason=_NO_SEEN) if hardest is None else _share(one, hardest)
    yield make_row(one.labels, "accuracy_hardest", estimate, n=_count(one, hardest), knob=hardest)


def cost_rows(one: Records, *, rng: np.random.Generator, draws: int) -> Iterator[Row]:
    """Yield what a token costs over the knobs of training: sums over all tokens, divided by their number."""
    table = one.seen
    knobs, index = knob_index(table)
    whole = np.zeros_like(index)
    means = {
        name: Mean(table[column], table["num_tokens"], whole, 1, undefined=_NO_SEEN) for name, column in _SUMS.items()
    }
    found = bootstrap(means, index, rng=rng, draws=draws) if knobs else {}
    for name in _SUMS:
        estimate = found[name][0] if knobs else Estimate(None, reason=_NO_SEEN)
        yield make_row(one.labels, name, estimate, n=len(table))


def depth_rows(one: Records, *, rng: np.random.Generator, draws: int) -> Iterator[Row]:
    """Yield mean depth by knob and over the knobs of training, of answer and of prompt tokens apart."""
    table = one.instances
    knobs, index = knob_index(table)
    split = dict(table.select("knob", "split").unique().iter_rows())
    seen = np.where((table["split"] == "seen").to_numpy(), 0, -1)
    means = {}
    for kind in ("answer", "prompt"):
        sums, counts = table[f"{kind}_depth"], table[f"{kind}_tokens"]
        means[kind] = Mean(sums, counts, index, len(knobs), undefined=f"no {kind} tokens")
        means[f"{kind} seen"] = Mean(sums, counts, seen, 1, undefined=f"no {kind} tokens")
    found = bootstrap(means, index, rng=rng, draws=draws)
    sizes = np.bincount(index).tolist()
    for kind in ("answer", "prompt"):
        for knob, estimate, size in zip(knobs, found[kind], sizes, strict=True):
            yield make_row(one.labels, "depth", estimate, n=size, split=split[knob], knob=knob, subset=kind)
        yield make_row(one.labels, "depth", found[f"{kind} seen"][0], n=len(one.seen), subset=kind)


def constancy_rows(one: Records) -> Iterator[Row]:
    """Yield how many of the tokens have the most common depth: all of them, for a policy that has collapsed."""
    total = sum(one.depths.values())
    yield make_row(one.labels, "modal_share", Estimate(max(one.depths.values()) / total), n=total)


def alignment_rows(one: Records, *, rng: np.random.Generator, draws: int) -> Iterator[Row]:
    """Yield slope and Spearman of answer depth over the knob, with what they are when depth is shuffled."""
    table = one.seen
    knob, depth = table["knob"].to_numpy().astype(np.float64), instance_means(table, "exit_depth")
    rows = np.flatnonzero(~np.isnan(depth))
    knob, depth = knob[rows], depth[rows]
    names = ("knob", "depth")
    statistics: dict[str, Slope | Spearman] = {
        "slope": Slope(knob, depth, names=names),
        "spearman_knob": Spearman(knob, depth, np.arange(len(knob)), len(knob), names=names),
    }
    found = bootstrap(statistics, knob.astype(np.int64), rng=rng, draws=draws)
    nulls = knob_nulls(knob, depth, rng=rng)
    for (name, (estimate,)), null in zip(found.items(), nulls, strict=True):
        yield make_row(one.labels, name, estimate, n=len(knob), null=null)


def _share(one: Records, knob: int | None) -> Estimate:
    """Return the share of right answers at a knob, or over the knobs of training."""
    table = one.seen if knob is None else one.seen.filter(one.seen["knob"] == knob)
    return proportion(int(table["correct"].sum()), len(table))


def _count(one: Records, knob: int | None) -> int:
    return 0 if knob is None else int((one.seen["knob"] == knob).sum())


def _whole(value: object) -> int:
    assert isinstance(value, int)
    return value
