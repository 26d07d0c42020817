"""What is read from decoding, from records and from models: rows of the tidy table.

`decode` says how many rows were decoded at once (batch-16), `subset` at which depths: the run's own, or one that every
token is forced to (depth-2), by the same weights without a decider.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from anira.inference.savings import OWN, Decoded
from anira.measure.choice import cost_rows
from anira.measure.records.loading import load_evaluation
from anira.measure.records.reading import Records, read_records
from anira.measure.savings import core_time_ratio, deciding_ratio, median_estimate, share_with_exit, time_ratio
from anira.measure.statistics.bootstrap import DRAWS
from anira.measure.statistics.estimates import Estimate
from anira.measure.tidy import Labels, Row, make_row

BATCHED: Final = "in a batch an iteration runs if one row needs it: times of forced depths do not add up"
BATCH: Final = "batch-"


def decoding_rows(labels: Labels, found: Mapping[int, Decoded], *, batch: int, knob: int) -> Iterator[Row]:
    """Yield time, bytes and FLOPs of each way to decode the same rows of one knob, `batch` at once."""
    labels = replace(labels, decode=f"{BATCH}{batch}")
    for depth, one in found.items():
        subset, n = (f"depth-{depth}" if depth else "own"), one.cost.tokens
        for name, value in _counted(one, found[max(found)], max(found)).items():
            yield make_row(labels, name, Estimate(value), n=n, knob=knob, subset=subset)
        for name, estimate in _timed(one, found, batch).items():
            yield make_row(labels, name, estimate, n=len(one.seconds), knob=knob, subset=subset)


def _counted(one: Decoded, full: Decoded, max_depth: int) -> dict[str, float]:
    cost, depth = one.cost, one.cost.mean_depth
    return {
        "iterations": depth,
        "iterations_share": depth / max_depth,
        "slots_expected": share_with_exit(depth, max_depth),
        "core_bytes_ratio": one.core_bytes / full.core_bytes,
        "cache_bytes_ratio": one.cache_bytes / full.cache_bytes,
        "execution_flops": cost.core_flops / cost.tokens,
        "decision_flops": cost.decision_flops / cost.tokens,
        "other_flops": cost.other_flops / cost.tokens,
        "execution_ratio": cost.core_flops / full.cost.core_flops,
        "flops_ratio": cost.flops / full.cost.flops,
        "decision_ratio": cost.decision_flops / cost.core_flops,
    }


def _timed(one: Decoded, found: Mapping[int, Decoded], batch: int) -> dict[str, Estimate]:
    forced = {depth: decoded.seconds for depth, decoded in found.items() if depth != OWN}
    times = {
        "time_ratio": time_ratio(one.seconds, forced),
        "core_time_ratio": core_time_ratio(one.seconds, forced),
        "token_time": median_estimate([1e3 * seconds / one.cost.tokens for seconds in one.seconds]),
    }
    if one is not found[OWN]:
        return times
    deciding = Estimate(None, reason=BATCHED)
    return {**times, "deciding_ratio": deciding if batch > 1 else deciding_ratio(one.seconds, forced, one.depth_shares)}


def read_final(run: Path) -> Records:
    """Return the records of a run's last evaluation."""
    return read_records(load_evaluation(run / "records" / "final"))


def record_rows(final: Records, *, draws: int = DRAWS) -> Iterator[Row]:
    """Yield what all tokens of an evaluation cost, over its knobs, and the iterations on offer."""
    yield make_row(final.labels, "max_depth", Estimate(float(final.max_depth)), n=1)
    rows = cost_rows(final, rng=np.random.default_rng(0), draws=draws)
    yield from (row for row in rows if row["knob"] is None)


def parameter_rows(labels: Labels, total: int, decider: int, *, subset: str = "all") -> Iterator[Row]:
    """Yield the size of a model, and how much of it decides."""
    counts = {"parameters": total, "decider_parameters": decider, "decider_share": decider / total}
    for name, value in counts.items():
        yield make_row(labels, name, Estimate(float(value)), n=1, subset=subset)


def preset_labels(name: str, task: str, variant: str) -> Labels:
    """Return the labels of a model that is only counted."""
    nothing = {"subtask": "", "select": "", "threshold": None, "decode": ""}
    return Labels(run_id=name, task=task, variant=variant, policy=variant, seed=0, step=0, **nothing)  # type: ignore[arg-type]
