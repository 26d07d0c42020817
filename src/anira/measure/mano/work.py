"""Size or work: what a harder question of the same L does to depth and accuracy.

L is the number of operators, so a longer question is also a longer row. At equal L questions still differ in the work
that they take:

    - - - 5 3 1 2    height 3, 3 steps: each operand but the first completes one operator
    - 5 - 3 - 1 2    height 3, 1 step: the last operand completes all three
    - - 5 3 - 1 2    height 2, 2 steps
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import polars as pl

from anira.measure.effects import at_equal, effect
from anira.measure.mano.parse_state import PROBES, require_probes
from anira.measure.records.instances import instance_means
from anira.measure.records.reading import Records
from anira.measure.splits import ALL, SEEN
from anira.measure.statistics.estimates import Floats
from anira.measure.tidy import Row, make_row

WORK: Final = {
    "height": "height of the tree: operators on its longest path",
    "steps": "tokens at which at least one operator is completed",
}


def work_rows(one: Records) -> Iterator[Row]:
    """Yield the effect of work on the answer at equal L: over all L of training, and at each of them.

    All instances count, whether they were answered right or not; where no L is of training, all L count.
    """
    seen = len(one.seen) > 0
    table = _with_work(one, one.seen if seen else one.instances)
    for knob in (None, *table["knob"].unique().sort()):
        part = table if knob is None else table.filter(knob=knob)
        for work in WORK:
            for name, values in _answers(part).items():
                given = at_equal(part["knob"].to_numpy().astype(np.float64))
                x = part[work].to_numpy().astype(np.float64)
                fixed = "work does not vary at equal L"
                still = "the answers are all right or all wrong" if name == "work_accuracy" else "the depth is constant"
                found, _ = effect(values, x, np.arange(len(part)), given, fixed=fixed, constant=still)
                split = SEEN if seen else ALL
                yield make_row(one.labels, name, found, n=len(part), split=split, knob=knob, subset=work)


def _with_work(one: Records, instances: pl.DataFrame) -> pl.DataFrame:
    require_probes(one)
    tokens = one.evaluation.tokens.filter(pl.col(PROBES["operator"]).is_not_null()).group_by("instance_id")
    # An operand stands below as many operators as are open; the last one completes the root.
    height = pl.col(PROBES["stack"]).max().alias("height")
    steps = (1 + (pl.col(PROBES["completed"]) > 0).sum()).alias("steps")
    return instances.join(one.evaluation.collect(tokens.agg(height, steps)), on="instance_id", maintain_order="left")


def _answers(part: pl.DataFrame) -> dict[str, Floats]:
    """Return what work may move, one number per instance."""
    found = {"work_slope": instance_means(part, "exit_depth")}
    if part["expected_tokens"].sum():
        found["expected_work_slope"] = instance_means(part, "expected_depth")
    return {**found, "work_accuracy": part["correct"].cast(pl.Float64).to_numpy()}
