"""Beyond training: planted drops and differences are found with their intervals, and what is undefined says why."""

import numpy as np
import polars as pl
import pytest
from tests.unit.measure.beyond_support import COUNT, FALLING, made, of

from anira.measure.extrapolation import BEYOND, drop_rows, pair_rows
from anira.measure.statistics.estimates import wilson
from anira.measure.tidy import find, make_table


def drops(records):
    return make_table(drop_rows(records))


def pairs(one, other, **options):
    return make_table(pair_rows(one, other, **options))


def test_drops_are_differences_of_neighbours():
    table = drops(made())
    assert find(table, "drop_beyond")["value"] == pytest.approx(0.3)
    assert find(table, "drop_within")["value"] == pytest.approx(0.1)
    beyond = find(table, "accuracy", subset=BEYOND)
    assert (beyond["n"], beyond["value"]) == (2 * COUNT, 0.5)
    assert find(table, "majority", subset=BEYOND)["value"] == pytest.approx(0.2)


def test_the_interval_of_a_drop_is_newcombes():
    """It is put together from the Wilson intervals of the two accuracies."""
    low, high = wilson([36, 24], [40, 40])
    below = np.hypot(0.9 - low[0], high[1] - 0.6)
    above = np.hypot(high[0] - 0.9, 0.6 - low[1])
    drop = find(drops(made()), "drop_beyond")
    assert (drop["low"], drop["high"]) == pytest.approx((0.3 - below, 0.3 + above))


def test_where_there_is_nothing_to_compare_it_says_so():
    reasons = [
        ({1: 1.0, 2: 0.9}, "drop_beyond", "no knob beyond training was evaluated"),
        ({2: 0.9, 3: 0.5}, "drop_within", "one knob of training was evaluated"),
        ({3: 0.9, 4: 0.5}, "drop_beyond", "no knob of training was evaluated"),
        ({3: 0.9, 4: 0.5}, "drop_within", "no knob of training was evaluated"),
    ]
    for right, name, reason in reasons:
        row = find(drops(made(right)), name)
        assert (row["value"], row["reason"]) == (None, reason)
    assert find(drops(made({1: 1.0, 2: 0.9})), "accuracy", subset=BEYOND)["quantity"] is None


def test_two_runs_are_compared_within_training_beyond_it_and_at_the_largest_knob():
    other = made(variant="fixed", tokens=lambda number: 1 + number % 2, depth=lambda number: 2 + number % 2)
    table = pairs(made({**FALLING, 3: 0.9, 4: 0.7}), other, draws=100)
    places = {("seen", None): (0.0, 80), ("extrapolation", None): (0.3, 80), ("extrapolation", 4): (0.3, 40)}
    for (split, knob), (value, n) in places.items():
        row = find(table, "accuracy_above", subset="fixed", split=split, knob=knob)
        assert (row["value"], row["n"]) == (pytest.approx(value), n)
    depth = find(table, "depth_above", subset="fixed", split="seen")
    assert depth["value"] == pytest.approx(3 - 2.5 / 1.5), "means are over tokens, of which each run has its own"


def test_evaluations_of_other_instances_share_none():
    one, other = made(), made(variant="fixed")
    moved = of(other.instances.with_columns(answer=pl.col("answer").reverse()), variant="fixed")
    row = find(pairs(one, moved), "accuracy_above", subset="fixed", split="extrapolation")
    assert (row["value"], row["reason"]) == (None, "the two evaluations share no instances")


def random_run(rng, variant, depth, rate):
    """A run at two knobs whose depths have noise around `depth`, right at a rate."""
    count = len(depth)
    columns = {
        "knob": np.arange(count) % 2 + 1,
        "number": np.arange(count),
        "split": ["seen"] * count,
        "question": [""] * count,
        "answer": [""] * count,
        "answer_tokens": np.ones(count, dtype=int),
        "answer_depth": depth + rng.normal(size=count),
        "correct": rng.random(count) < rate,
    }
    return of(pl.DataFrame(columns), variant=variant)


def test_intervals_cover_what_was_planted_at_their_rate():
    rng, truth, covered, repeats = np.random.default_rng(0), (0.1, 0.3), np.zeros(2), 150
    for draw in range(repeats):
        hard = rng.normal(size=100)
        one, other = random_run(rng, "a", hard + truth[1], 0.9), random_run(rng, "b", hard, 0.8)
        table = pairs(one, other, seed=draw, draws=200)
        rows = [find(table, name, subset="b", split="seen") for name in ("accuracy_above", "depth_above")]
        covered += [row["low"] <= value <= row["high"] for row, value in zip(rows, truth, strict=True)]
    assert (covered >= 0.89 * repeats).all(), covered
    assert (covered <= 0.99 * repeats).all(), covered


def test_what_both_runs_find_hard_drops_out():
    rng = np.random.default_rng(1)
    hard = 10 * rng.normal(size=200)
    widths = []
    for other in (hard, rng.permutation(hard)):
        table = pairs(random_run(rng, "a", hard, 1), random_run(rng, "b", other, 1), draws=200)
        row = find(table, "depth_above", subset="b", split="seen")
        widths.append(row["high"] - row["low"])
    assert widths[0] < 0.2 * widths[1]
