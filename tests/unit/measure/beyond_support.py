"""Records in memory with planted accuracies and depths: knobs 1 and 2 are of training, 3 and 4 lie beyond."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from anira.measure.choice import accuracy_rows, baseline_rows
from anira.measure.extrapolation import drop_rows, pair_rows
from anira.measure.records.reading import Records
from anira.measure.tidy import Labels, make_table

COUNT = 40
FALLING = {1: 1.0, 2: 0.9, 3: 0.6, 4: 0.4}
CHANCE = {1: 1.0, 2: 0.9, 3: 0.2, 4: 0.2}
ANSWERS = 5  # the commonest answer has a share of 1 / ANSWERS


def made(
    right: Mapping[int, float] = FALLING,
    *,
    variant: str = "anira-o",
    seed: int = 0,
    depth: Callable[[int], float] = lambda number: 3,
    tokens: Callable[[int], int] = lambda number: 1,
) -> Records:
    """Return a run's records; the first instances of each knob are right, so the better of two is right where both are.

    `depth` is the sum over the answer tokens of an instance.
    """
    rows = [
        {
            "knob": knob,
            "number": number,
            "split": "seen" if knob <= 2 else "extrapolation",
            "correct": number < round(share * COUNT),
            "question": f"{knob}/{number}",
            "answer": str(number % ANSWERS),
            "answer_tokens": tokens(number),
            "answer_depth": depth(number),
        }
        for knob, share in right.items()
        for number in range(COUNT)
    ]
    return of(pl.DataFrame(rows), variant=variant, seed=seed)


def of(instances: pl.DataFrame, *, variant: str = "anira-o", seed: int = 0) -> Records:
    """Return records with these instances."""
    empty: dict[str, Any] = {"subtask": "", "select": "", "threshold": None, "decode": "parallel", "step": 1}
    labels = Labels(run_id=f"{variant}-s{seed}", task="toy", variant=variant, policy=variant, seed=seed, **empty)
    whole = instances.with_columns(
        lenient_correct=pl.col("correct"), seen_in_training=pl.lit(None, pl.Boolean), instance_id=pl.int_range(pl.len())
    )
    return Records(None, labels, 4, whole)  # type: ignore[arg-type] # tokens are not read here


def table(runs: Sequence[Records], pairs: Sequence[tuple[Records, Records]] = ()) -> pl.DataFrame:
    """Return the rows that claims about knobs beyond training read."""
    rows = [row for one in runs for make in (accuracy_rows, baseline_rows, drop_rows) for row in make(one)]
    return make_table([*rows, *(row for pair in pairs for row in pair_rows(*pair, draws=100))])
