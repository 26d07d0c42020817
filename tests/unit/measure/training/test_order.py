"""When sizes are learned: a planted order is found, chance is not taken for one."""

import numpy as np
import polars as pl
import pytest
from scipy.optimize import isotonic_regression
from tests.unit.measure.dynamics_support import STEPS, Training, accuracies

from anira.measure.training.order import learned_at, learned_order

MAJORITY = {1: 0.25, 2: 0.25, 3: 0.25}


def table(curves, instances=200, steps=STEPS):
    rows = [
        (step, knob, instances, value)
        for knob, curve in curves.items()
        for step, value in zip(steps, curve, strict=True)
    ]
    return pl.DataFrame(rows, schema=["step", "knob", "instances", "accuracy"], orient="row")


def order(curves, *, majority=MAJORITY, seed=0, draws=200, steps=STEPS):
    rng = np.random.default_rng(seed)
    return learned_order(table(curves, steps=steps), majority, rng=rng, draws=draws)


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
    assert [(size.knob, size.step) for size in found.sizes] == [(1, 200), (2, 500), (3, 900)]
    assert all(size.low <= size.step <= size.high for size in found.sizes)
    assert (found.kendall.value, found.kendall.direction, found.first_step) == (pytest.approx(1), 1, 100)
    assert found.by_chance == pytest.approx(1 / 6)
    assert found.sizes[0].level == 0.625


def test_a_reversed_order_is_found():
    found = order(planted({1: 850, 2: 450, 3: 150}, 0))
    assert (found.kendall.value, found.kendall.direction) == (pytest.approx(-1), -1)
    assert found.by_chance == pytest.approx(1 / 6)


def test_intervals_cover_the_true_step_about_as_often_as_they_say():
    truth = {1: 300, 2: 450, 3: 760}  # the level is reached at the evaluations of 300, 500 and 800
    covered = []
    for draw in range(40):
        found = order(planted(truth, draw, instances=60), seed=draw, draws=100)
        covered += [size.low <= true <= size.high for size, true in zip(found.sizes, (300, 500, 800), strict=True)]
    assert np.mean(covered) > 0.9


def test_sizes_that_are_learned_together_have_no_order():
    excluded = [order(planted(dict.fromkeys((1, 2, 3), 500), draw), seed=draw).kendall.direction for draw in range(40)]
    assert np.mean(np.abs(excluded)) < 0.1


def test_sizes_that_are_never_learned_share_the_last_place():
    found = order(planted({1: 150, 2: 5000, 3: 5000}, 0))
    assert [size.step for size in found.sizes] == [200, None, None]
    assert found.sizes[1].low is None
    assert found.kendall.value == pytest.approx(2 / 6**0.5)
    assert found.by_chance == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("learned", "reason"),
    [
        ({1: 5000, 2: 5000, 3: 5000}, "no size is learned"),
        ({1: -500, 2: -500, 3: -500}, "all sizes are learned at the same evaluation"),
        ({1: 500}, "there is one size only"),
    ],
)
def test_an_order_that_does_not_exist_says_why(learned, reason):
    found = order(planted(learned, 0))
    assert (found.kendall.value, found.kendall.reason, found.by_chance) == (None, reason, None)


def test_too_few_evaluations_say_so():
    found = order({1: [0.9, 0.9], 2: [0.2, 0.9], 3: [0.1, 0.2]}, steps=(10, 20))
    assert found.kendall.reason == "too few evaluations: 2, and 3 are needed"
    assert (found.sizes, found.first_step) == ((), 10)
    assert order({}).first_step is None


def test_a_knob_that_an_evaluation_lacks_does_not_count_there():
    rows = table(planted({1: 150, 2: 450, 3: 850}, 0)).filter((pl.col("knob") != 3) | (pl.col("step") != 1000))
    found = learned_order(rows, MAJORITY, rng=np.random.default_rng(0), draws=50)
    assert found.sizes[2].step == 900


def test_equal_seeds_give_equal_figures():
    curves = planted({1: 150, 2: 450, 3: 850}, 0)
    assert order(curves, seed=3) == order(curves, seed=3)
