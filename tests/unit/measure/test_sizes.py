"""Accuracy over unseen sizes, and what they lose: sums over the sizes of a split, subtask by subtask."""

import pytest
from tests.unit.measure.records_support import Plan, write_subtasks

from anira.measure import measure
from anira.measure.sizes import unseen_rows
from anira.measure.statistics.estimates import proportion, proportion_difference
from anira.measure.tidy import find, make_table

# 5 and 6 lie beyond what training has seen.
PLANS = {"sort": Plan(knobs=(1, 2, 5, 6), n=40, accuracy=0.8), "bfs": Plan(knobs=(1, 2), n=60, draw=1)}


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    table = measure(write_subtasks(tmp_path_factory.mktemp("sizes") / "final", PLANS), draws=10)
    return table, make_table(unseen_rows(table))


def test_instances_of_a_split_are_counted_together(both):
    table, made = both
    right = {
        knob: round(40 * find(table, "accuracy", knob=knob, subtask="sort")["value"]) for knob in PLANS["sort"].knobs
    }
    seen, beyond = (right[1] + right[2], 80), (right[5] + right[6], 80)
    rows = [find(made, name, split="extrapolation", subtask="sort") for name in ("accuracy", "drop_unseen")]
    for row, expected in zip(rows, (proportion(*beyond), proportion_difference(seen, beyond)), strict=True):
        assert (row["value"], row["low"], row["high"], row["n"]) == (expected.value, expected.low, expected.high, 80)


def test_a_split_that_was_not_evaluated_says_so(both):
    _, made = both
    for subtask, split, where in (("sort", "interpolation", "between"), ("bfs", "extrapolation", "beyond")):
        row = find(made, "drop_unseen", split=split, subtask=subtask)
        assert (row["value"], row["reason"]) == (None, f"no size {where} the seen sizes was evaluated")
        assert made.filter(quantity="accuracy", split=split, subtask=subtask).is_empty()
