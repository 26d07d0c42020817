"""When sizes are learned: a planted order is found, chance is not taken for one."""

import numpy as np
import polars as pl
import pytest
from scipy.optimize import isotonic_regression
from tests.unit.measure.dynamics_support import LABELS, STEPS, Training, accuracies

from anira.measure.tidy import estimate, find, make_table
from anira.measure.training.order import learned_at, order_rows

MAJORITY = {1: 0.25, 2: 0.25, 3: 0.25}


def table(curves, instances=200, steps=STEPS):
    rows = [
        (step, knob, instances, value)
        for knob, curve in curves.items()
        for step, value in zip(steps, curve, strict=True)
    ]
    return pl.DataFrame(rows, schema=["step", "knob", "instances", "accuracy"], orient="row")


def order(curves, *, seed=0, draws=200, steps=STEPS):
    return rows_of(table(curves, steps=steps), seed=seed, draws=draws)


def rows_of(evaluations, *, seed=0, draws=200):
    return make_table(order_rows(LABELS, evaluations, MAJORITY, rng=np.random.default_rng(seed), draws=draws))


def learned(found):
    """Step, low and high of each size, small ones first."""
    return found.filter(quantity="learned_step").sort("knob").select("value", "low", "high").rows()


def direction(found):
    return estimate(find(found, "kendall_order")).direction


def planted(learned, draw, instances=200):
    return accuracies(Training(learned=learned, instances=instances), np.random.default_rng(draw))


def test_a_size_is_learned_where_a_rising_fit_reaches_the_level():
    rng = np.random.default_rng(0)
    for _ in range(200):
        accuracy, instances = rng.random(8), rng.integers(50, 200, size=8).astype(float)
        fit = isotonic_regression(accuracy, weights=instances).x
        expected = next((i for i, value in enumerate(fit) if value >= 0.5), 8)
        assert learned_at(accuracy[None], instances[None], np.array([0.5])).tolist() == [expected]


def test_one_lucky_evaluation_does_not_make_a_size_learned():
    lucky, unlucky = [0.2, 0.2, 0.9, 0.2, 0.2, 0.2], [0.2, 0.9, 0.9, 0.4, 0.9, 0.9]
    assert learned_at(np.array([lucky, unlucky]), np.full((2, 6), 100.0), np.array([0.6, 0.6])).tolist() == [6, 1]


def test_a_planted_order_is_found():
    found = order(planted({1: 150, 2: 450, 3: 850}, 0))
    assert [step for step, _, _ in learned(found)] == [200, 500, 900]
    assert all(low <= step <= high for step, low, high in learned(found))
    assert (find(found, "kendall_order")["value"], direction(found)) == (pytest.approx(1), 1)
    assert find(found, "order_by_chance")["value"] == pytest.approx(1 / 6)
    assert find(found, "learning_level", knob=1)["value"] == 0.625


def test_a_reversed_order_is_found():
    found = order(planted({1: 850, 2: 450, 3: 150}, 0))
    assert (find(found, "kendall_order")["value"], direction(found)) == (pytest.approx(-1), -1)
    assert find(found, "order_by_chance")["value"] == pytest.approx(1 / 6)


def test_intervals_cover_the_true_step_about_as_often_as_they_say():
    truth = {1: 300, 2: 450, 3: 760}  # the level is reached at the evaluations of 300, 500 and 800
    covered = []
    for draw in range(40):
        found = order(planted(truth, draw, instances=60), seed=draw, draws=100)
        covered += [low <= true <= high for (_, low, high), true in zip(learned(found), (300, 500, 800), strict=True)]
    assert np.mean(covered) > 0.9


def test_sizes_that_are_learned_together_have_no_order():
    excluded = [direction(order(planted(dict.fromkeys((1, 2, 3), 500), draw), seed=draw)) for draw in range(40)]
    assert np.mean(np.abs(excluded)) < 0.1


def test_sizes_that_are_never_learned_share_the_last_place():
    found = order(planted({1: 150, 2: 5000, 3: 5000}, 0))
    assert [step for step, _, _ in learned(found)] == [200, None, None]
    assert find(found, "learned_step", knob=2)["reason"] == "not learned by the last evaluation"
    assert find(found, "kendall_order")["value"] == pytest.approx(2 / 6**0.5)
    assert find(found, "order_by_chance")["value"] == pytest.approx(1 / 3)


def test_a_size_learned_by_the_first_evaluation_says_so():
    found = order(planted({1: -500, 2: 450, 3: 850}, 0))
    assert find(found, "learned_step", knob=1)["reason"] == "learned by the first evaluation, or before"


@pytest.mark.parametrize(
    ("when", "reason"),
    [
        ({1: 5000, 2: 5000, 3: 5000}, "no size is learned"),
        ({1: -500, 2: -500, 3: -500}, "all sizes are learned at the same evaluation"),
        ({1: 500}, "there is one size only"),
    ],
)
def test_an_order_that_does_not_exist_says_why(when, reason):
    found = order(planted(when, 0))
    for name in ("kendall_order", "order_by_chance"):
        assert (find(found, name)["value"], find(found, name)["reason"]) == (None, reason)


def test_too_few_evaluations_say_so():
    found = order({1: [0.9, 0.9], 2: [0.2, 0.9], 3: [0.1, 0.2]}, steps=(10, 20))
    assert find(found, "kendall_order")["reason"] == "too few evaluations: 2, and 3 are needed"
    assert learned(found) == []
    assert find(order({}), "kendall_order")["reason"] == "too few evaluations: 0, and 3 are needed"


def test_a_knob_that_an_evaluation_lacks_does_not_count_there():
    rows = table(planted({1: 150, 2: 450, 3: 850}, 0)).filter((pl.col("knob") != 3) | (pl.col("step") != 1000))
    assert find(rows_of(rows, draws=50), "learned_step", knob=3)["value"] == 900


def test_equal_seeds_give_equal_numbers():
    curves = planted({1: 150, 2: 450, 3: 850}, 0)
    assert order(curves, seed=3).equals(order(curves, seed=3))
