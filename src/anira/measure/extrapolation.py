"""What becomes of accuracy beyond the knobs of training, and which of two runs keeps more of it.

    knob        1      2      3   |   4      5      6
    accuracy    1.00   0.99   0.72|   0.29   0.25   0.24      drop beyond 0.43, last drop within 0.27

A larger knob is also more work, so the last drop within training stands beside the drop beyond it. Two runs are
compared instance by instance: all evaluations of a task read the same rows, so what is hard about an instance is hard
for both and drops out of the difference.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import polars as pl

from anira.measure.choice import majority, share
from anira.measure.records.reading import Records
from anira.measure.statistics.association import Mean
from anira.measure.statistics.bootstrap import DRAWS, Statistic, bootstrap
from anira.measure.statistics.estimates import Estimate, Floats, proportion_difference
from anira.measure.tidy import Row, make_row

BEYOND: Final = "beyond"
"""The subset of rows over all knobs beyond the largest seen one."""
_SPLIT: Final = "extrapolation"
_OTHER: Final = "_other"  # ends the columns of the second run
_READ: Final = ("correct", "answer_tokens", "answer_depth", "question", "answer")


def drop_rows(one: Records) -> Iterator[Row]:
    """Yield the drop of accuracy where training ends, the last one within, and accuracy over all that lies beyond."""
    seen, limit = sorted(one.seen["knob"].unique()), one.hardest
    beyond = one.instances.filter(pl.col("knob") > pl.lit(limit, pl.Int64))
    drops = {
        "drop_beyond": ([limit, beyond["knob"].min()] if len(beyond) else [], "no knob beyond training was evaluated"),
        "drop_within": (seen[-2:] if len(seen) > 1 else [], "one knob of training was evaluated"),
    }
    for name, (knobs, reason) in drops.items():
        near = one.instances.filter(pl.col("knob").is_in(knobs))
        why = reason if seen else "no knob of training was evaluated"
        found = _drop(near, knobs[0]) if knobs else Estimate(None, reason=why)
        yield make_row(one.labels, name, found, n=len(near), knob=limit)
    if len(beyond):
        for name, found in (("accuracy", share(beyond)), ("majority", majority(beyond))):
            yield make_row(one.labels, name, found, n=len(beyond), split=_SPLIT, subset=BEYOND)


def pair_rows(one: Records, other: Records, *, seed: int = 0, draws: int = DRAWS) -> Iterator[Row]:
    """Yield accuracy and answer depth of a run less those of another, which the subset names.

    Within training, beyond it, and at the largest knob alone.
    """
    pairs = _shared(one.instances, other.instances)
    beyond = pairs.filter(pl.col("knob") > pl.col("knob").filter(pl.col("split") == "seen").max())
    farthest = beyond.filter(pl.col("knob") == pl.col("knob").max())
    places = [("seen", None, pairs.filter(split="seen")), (_SPLIT, None, beyond)]
    if len(farthest):
        places.append((_SPLIT, farthest["knob"][0], farthest))
    for split, knob, part in places:
        for name, found in _compare(part, seed, draws).items():
            subset = other.labels.variant
            yield make_row(one.labels, name, found, n=len(part), split=split, knob=knob, subset=subset)


def _drop(instances: pl.DataFrame, before: int) -> Estimate:
    """Return accuracy at one knob minus that at the other; the instances are different ones: Newcombe's interval."""
    is_first = pl.col("knob") == before
    first, second = (instances.filter(where)["correct"] for where in (is_first, ~is_first))
    return proportion_difference((int(first.sum()), len(first)), (int(second.sum()), len(second)))


def _shared(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """Return the instances that both runs read; none where what they read under one knob and number differs."""
    pairs = one.join(other.select("knob", "number", *_READ), on=["knob", "number"], suffix=_OTHER)
    same = [pl.col(name) == pl.col(f"{name}{_OTHER}") for name in ("question", "answer")]
    return pairs.sort("knob", "number") if pairs.select(pl.all_horizontal(same).all()).item() else pairs.clear()


def _compare(pairs: pl.DataFrame, seed: int, draws: int) -> dict[str, Estimate]:
    """Return the differences with intervals from resampling instances, each with what both runs made of it."""
    if pairs.is_empty():
        none = Estimate(None, reason="the two evaluations share no instances")
        return {"accuracy_above": none, "depth_above": none}
    right = pairs["correct"].to_numpy().astype(int) - pairs[f"correct{_OTHER}"].to_numpy()
    statistics: dict[str, Statistic] = {
        "accuracy_above": Mean(right, np.ones(len(pairs)), undefined="no instances"),
        "depth_above": _Depth(pairs),
    }
    found = bootstrap(statistics, pairs["knob"].to_numpy(), rng=np.random.default_rng(seed), draws=draws)
    return {name: estimates[0] for name, estimates in found.items()}


class _Depth:
    """The difference of mean answer depths; each run has its own number of tokens where it wrote freely."""

    undefined = "no answer tokens"

    def __init__(self, pairs: pl.DataFrame) -> None:
        self._first, self._second = (
            Mean(pairs[f"answer_depth{end}"], pairs[f"answer_tokens{end}"], undefined=self.undefined)
            for end in ("", _OTHER)
        )

    def __call__(self, weights: Floats) -> Floats:
        """Return the difference in every resample."""
        return self._first(weights) - self._second(weights)
