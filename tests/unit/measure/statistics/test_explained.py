"""R2 from sums of products by instance: that of statsmodels, with and without a constant for every group."""

import numpy as np
import pytest
import statsmodels.api as sm

from anira.measure.statistics.explained import Moments

RNG = np.random.default_rng(0)
INSTANCE = np.repeat(np.arange(40), RNG.integers(1, 8, size=40))
GROUP = (INSTANCE // 10)[: len(INSTANCE)]
COLUMNS = {name: RNG.normal(size=len(INSTANCE)) for name in ("a", "b", "c")}
COLUMNS["y"] = COLUMNS["a"] - 0.5 * COLUMNS["b"] + GROUP**2 + RNG.normal(size=len(INSTANCE))


def by_statsmodels(rows, names, by_group):
    dummies = [(GROUP[rows] == one).astype(float) for one in np.unique(GROUP)]
    constants = dummies if by_group else [np.ones(len(rows))]
    design = np.stack([*constants, *(COLUMNS[name][rows] for name in names)], axis=1)
    y = COLUMNS["y"][rows]
    return 1 - sm.OLS(y, design).fit().ssr / ((y - y.mean()) ** 2).sum()


@pytest.mark.parametrize("by_group", [False, True])
@pytest.mark.parametrize("names", [(), ("a",), ("a", "b", "c")])
def test_r2_is_that_of_statsmodels(names, by_group):
    found = Moments(COLUMNS, INSTANCE, GROUP).explained().r2("y", names, by_group=by_group)
    assert found[0] == pytest.approx(by_statsmodels(np.arange(len(INSTANCE)), names, by_group), abs=1e-9)


@pytest.mark.parametrize("by_group", [False, True])
def test_weights_count_instances_again(by_group):
    weights = np.random.default_rng(1).integers(0, 3, size=(40, 2)).astype(float)
    found = Moments(COLUMNS, INSTANCE, GROUP).explained(weights)
    for draw in range(2):
        rows = np.repeat(np.arange(len(INSTANCE)), weights[INSTANCE, draw].astype(int))
        expected = by_statsmodels(rows, ("a", "b"), by_group)
        assert found.r2("y", ["a", "b"], by_group=by_group)[draw] == pytest.approx(expected, abs=1e-9)


def test_what_is_added_and_what_is_correlated():
    found = Moments(COLUMNS, INSTANCE, GROUP).explained()
    assert found.added("y", ["a"], ["b"])[0] == found.r2("y", ["a", "b"])[0] - found.r2("y", ["a"])[0]
    assert found.correlation("a", "y") == pytest.approx(np.corrcoef(COLUMNS["a"], COLUMNS["y"])[0, 1])


def test_columns_that_say_nothing_new_add_nothing():
    more = {**COLUMNS, "sum": COLUMNS["a"] + COLUMNS["b"], "flat": np.full(len(INSTANCE), 7.0)}
    found = Moments(more, INSTANCE, GROUP).explained()
    assert found.added("y", ["a", "b"], ["sum", "flat"])[0] == pytest.approx(0, abs=1e-9)
    assert np.isnan(found.r2("flat", ["a"])).all()
    assert np.isnan(found.correlation("flat", "a"))
