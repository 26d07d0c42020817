"""Linear fits: the coefficients and errors of statsmodels with dummies, what is not determined, and the nulls."""

import numpy as np
import pytest
import statsmodels.api as sm

from anira.measure.statistics.linear_fit import INTERCEPT, LinearFit, explained_by_means, shuffled_coefficients

N, TOKENS = 120, 5
RNG = np.random.default_rng(0)
INSTANCE = np.repeat(np.arange(N), TOKENS)
GROUP = INSTANCE % 4
X = {"a": RNG.normal(size=N * TOKENS), "b": RNG.normal(size=N * TOKENS) + GROUP}
DEPTH = 0.5 * X["a"] + 0.2 * X["b"] + GROUP + np.repeat(RNG.normal(size=N), TOKENS) + RNG.normal(size=N * TOKENS)


def with_dummies(groups):
    dummies = [(groups == one).astype(float) for one in np.unique(groups)]
    model = sm.OLS(DEPTH, np.stack([*X.values(), *dummies], axis=1))
    return model.fit(cov_type="cluster", cov_kwds={"groups": INSTANCE}, use_t=True)


def test_coefficients_are_those_of_statsmodels_with_a_column_for_every_group():
    fit, expected = LinearFit(X, DEPTH, INSTANCE, groups=GROUP), with_dummies(GROUP)
    for i, name in enumerate(X):
        found = fit.coefficients[name]
        low, high = expected.conf_int()[i]
        assert found.value == pytest.approx(expected.params[i])
        assert (found.low, found.high) == pytest.approx((low, high), abs=0.01 * (high - low))
    assert fit.r2 == pytest.approx(expected.rsquared)


def test_without_groups_there_is_an_intercept():
    fit = LinearFit(X, DEPTH, INSTANCE)
    expected = sm.OLS(DEPTH, sm.add_constant(np.stack(list(X.values()), axis=1))).fit()
    values = [fit.coefficients[name].value for name in (INTERCEPT, *X)]
    assert values == pytest.approx(list(expected.params))
    assert fit.r2 == pytest.approx(expected.rsquared)


def test_what_is_not_determined_says_so_and_leaves_the_rest_alone():
    more = {**X, "flat": np.ones(N * TOKENS), "twice": 2 * X["b"], "group": GROUP.astype(float)}
    fit = LinearFit(more, DEPTH, INSTANCE, groups=GROUP)
    for name in ("flat", "twice", "b", "group"):
        assert fit.coefficients[name].value is None
        assert "determined by the other" in fit.coefficients[name].reason
    assert fit.coefficients["a"].value == pytest.approx(with_dummies(GROUP).params[0])
    assert "flat" not in fit.mapping()


def test_intervals_cluster_by_instance():
    """A feature of the instance, and depths that its tokens share: as independent tokens they would seem certain."""
    shared = np.repeat(RNG.normal(size=N), TOKENS)
    depth = np.repeat(RNG.normal(size=N), TOKENS) + 0.01 * RNG.normal(size=N * TOKENS)
    found = LinearFit({"x": shared}, depth, INSTANCE).coefficients["x"]
    naive = sm.OLS(depth, sm.add_constant(shared)).fit().bse[1]
    assert (found.high - found.low) / 4 > 1.7 * naive


def test_without_an_effect_nineteen_of_twenty_intervals_hold_zero():
    held = 0
    for draw in range(40):
        rng = np.random.default_rng(draw)
        depth = np.repeat(rng.normal(size=N), TOKENS) + rng.normal(size=N * TOKENS)
        estimate = LinearFit({"x": rng.normal(size=N * TOKENS)}, depth, INSTANCE, groups=GROUP).coefficients["x"]
        held += estimate.low < 0 < estimate.high
    assert held >= 33  # fails by chance once in 2,000 times


def test_nulls_shuffle_within_instances():
    pooled, within = (LinearFit(X, DEPTH, INSTANCE, groups=groups) for groups in (GROUP, INSTANCE))
    nulls = shuffled_coefficients([pooled, within], DEPTH, INSTANCE, rng=np.random.default_rng(0))
    assert set(nulls[0]) == set(nulls[1]) == set(X)
    assert all(null.low < 0 < null.high for null in nulls[1].values())
    assert nulls[1]["a"].high < within.coefficients["a"].low
    nothing = LinearFit({"flat": np.ones(N * TOKENS)}, DEPTH, INSTANCE, groups=GROUP)
    assert shuffled_coefficients([nothing], DEPTH, INSTANCE, rng=np.random.default_rng(0)) == [{}]


def test_means_explain_what_they_do():
    assert explained_by_means(GROUP.astype(float), GROUP) == 1
    assert explained_by_means(DEPTH, GROUP) == pytest.approx(sm.OLS(DEPTH, np.eye(4)[GROUP]).fit().rsquared)
