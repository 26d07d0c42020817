"""Least squares with clustered intervals: the values of statsmodels, what is held fixed, and where there is nothing."""

import numpy as np
import pytest
from statsmodels.regression.linear_model import OLS

from anira.measure.effects import along, at_equal, effect, effective_instances, least_squares

RNG = np.random.default_rng(0)
INSTANCE = np.repeat(np.arange(40), 5)
X, GROUP = RNG.normal(size=200), RNG.integers(0, 4, size=200)
DEPTH = 3 + 0.5 * X + GROUP + RNG.normal(size=40)[INSTANCE] + RNG.normal(size=200)


def test_coefficients_and_intervals_are_those_of_statsmodels():
    design = np.stack([np.ones(200), X], axis=1)
    found = least_squares(DEPTH, design, INSTANCE)
    fit = OLS(DEPTH, design).fit(cov_type="cluster", cov_kwds={"groups": INSTANCE}, use_t=True)
    assert [one.value for one in found] == pytest.approx(fit.params)
    assert [(one.low, one.high) for one in found] == [pytest.approx(ends) for ends in fit.conf_int()]


def test_instances_make_intervals_wider_than_tokens_would():
    level = np.repeat(RNG.normal(size=40), 5)
    (clustered,) = least_squares(level, np.ones((200, 1)), INSTANCE)
    (tokens,) = least_squares(level, np.ones((200, 1)), np.arange(200))
    assert (clustered.high - clustered.low) > 1.8 * (tokens.high - tokens.low)


def test_holding_groups_fixed_is_a_column_for_each_of_them():
    dummies = (GROUP[:, None] == np.arange(4)).astype(float)
    by_hand = OLS(DEPTH, np.column_stack([X, dummies])).fit()
    found = effect(DEPTH, X, INSTANCE, at_equal(GROUP.astype(float)), fixed="")
    assert found[0].value == pytest.approx(by_hand.params[0])
    assert found[1] @ DEPTH == pytest.approx(by_hand.params[0])


def test_holding_a_line_fixed_is_one_more_column():
    other = GROUP.astype(float)
    by_hand = OLS(DEPTH, np.column_stack([X, other, np.ones(200)])).fit()
    found = effect(DEPTH, X, INSTANCE, along(other), fixed="")
    assert found[0].value == pytest.approx(by_hand.params[0])
    assert found[1] @ DEPTH == pytest.approx(by_hand.params[0])


def test_what_cannot_be_estimated_says_why():
    whole = at_equal(np.zeros(200))
    cases = {
        "no such tokens": effect(np.empty(0), np.empty(0), np.empty(0, int), at_equal(np.empty(0)), fixed="x"),
        "the depth is constant": effect(np.full(200, 3.0), X, INSTANCE, whole, fixed="x"),
        "x is still": effect(DEPTH, np.ones(200), INSTANCE, whole, fixed="x is still"),
        "groups tell x": effect(DEPTH, GROUP * 0.1, INSTANCE, at_equal(GROUP.astype(float)), fixed="groups tell x"),
    }
    for reason, found in cases.items():
        assert (found[0].value, found[0].reason) == (None, reason)
        assert not found[1].any()


def test_few_instances_have_a_value_and_no_interval():
    """All but the constant rests on two instances of forty; an interval from two would be far too narrow."""
    rare = np.isin(INSTANCE, (3, 7)).astype(float)
    constant, slope = least_squares(DEPTH, np.stack([np.ones(200), rare], axis=1), INSTANCE)
    assert constant.low < constant.value < constant.high
    assert (slope.low, slope.reason) == (None, "it rests on fewer than 10 instances")
    assert slope.value == pytest.approx(DEPTH[rare == 1].mean() - DEPTH[rare == 0].mean())
    (single,) = least_squares(np.array([2.0]), np.ones((1, 1)), np.array([0]))
    assert (single.value, single.low) == (2.0, None)


def test_instances_count_by_how_much_they_weigh():
    alike, one = np.ones((1, 6)), np.array([[1.0, 1, 1, 1, 0, 0]])
    assert effective_instances(alike, np.repeat([0, 1, 2], 2)) == pytest.approx([3])
    assert effective_instances(one, np.array([0, 0, 0, 0, 1, 2])) == pytest.approx([1])
    uneven = effective_instances(alike, np.array([0, 0, 0, 0, 1, 2]))
    assert 1 < uneven[0] < 3
