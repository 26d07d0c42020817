"""Statistics as functions of weights are the textbook statistics of the resampled rows, for any data and weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

from anira.measure.statistics.association import Mean, Slope, Spearman, midranks, rank_correlation
from anira.measure.statistics.estimates import wilson

NAMES = ("probe", "depth")
FEW = st.integers(1, 4)


@st.composite
def weighted_rows(draw):
    """Rows (x, y, instance) with many ties, and how often each instance counts in a few resamples."""
    instances, rows = draw(st.integers(1, 8)), draw(st.integers(1, 25))
    values = st.integers(0, 5).map(float)
    x = draw(arrays.arrays(np.float64, rows, elements=values))
    y = draw(arrays.arrays(np.float64, rows, elements=values))
    instance = draw(arrays.arrays(np.int64, rows, elements=st.integers(0, instances - 1)))
    weights = draw(arrays.arrays(np.int64, (instances, draw(FEW)), elements=st.integers(0, 3)))
    return x, y, instance, weights


def repeated(values, instance, weights):
    """Write a resample out: each row as often as its instance counts."""
    return np.repeat(values, weights[instance])


@given(weighted_rows())
def test_spearman_is_that_of_the_resampled_rows(data):
    x, y, instance, weights = data
    ours = Spearman(x, y, instance, len(weights), names=NAMES)(weights.astype(float))[0]
    for value, column in zip(ours, weights.T, strict=True):
        xs, ys = repeated(x, instance, column), repeated(y, instance, column)
        if len(xs) < 2 or np.ptp(xs) == 0 or np.ptp(ys) == 0:
            assert np.isnan(value)
        else:
            assert value == pytest.approx(stats.spearmanr(xs, ys).statistic, abs=1e-9)


@given(weighted_rows())
def test_slope_is_that_of_the_resampled_instances(data):
    x, y, _, weights = data
    n = min(len(x), len(weights))
    x, y, weights = x[:n], y[:n], weights[:n]
    ours = Slope(x, y, names=NAMES)(weights.astype(float))[0]
    for value, column in zip(ours, weights.T, strict=True):
        xs, ys = np.repeat(x, column), np.repeat(y, column)
        if len(xs) < 2 or np.ptp(xs) == 0 or np.ptp(ys) == 0:
            assert np.isnan(value)
        else:
            assert value == pytest.approx(stats.linregress(xs, ys).slope, abs=1e-9)


@given(weighted_rows())
def test_mean_is_that_of_the_resampled_tokens(data):
    _, depth, instance, weights = data
    sums = np.bincount(instance, weights=depth, minlength=len(weights))
    counts = np.bincount(instance, minlength=len(weights))
    ours = Mean(sums, counts, np.zeros(len(weights), dtype=int), 1, undefined="")(weights.astype(float))[0]
    for value, column in zip(ours, weights.T, strict=True):
        rows = repeated(depth, instance, column)
        np.testing.assert_allclose(value, rows.mean() if len(rows) else np.nan)


@given(arrays.arrays(np.float64, st.integers(1, 30), elements=st.floats(-5, 5).map(lambda value: round(value, 1))))
def test_midranks_are_average_ranks(values):
    np.testing.assert_array_equal(midranks(values), stats.rankdata(values))


@given(weighted_rows())
def test_ranks_do_not_see_scale(data):
    x, y, _, _ = data
    before, after = rank_correlation(x, y), rank_correlation(np.exp(x), -y)
    np.testing.assert_allclose(before, -after, atol=1e-12)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_share_and_stays_between_0_and_1(pair):
    successes, count = pair
    low, high = wilson(successes, count)
    assert 0 <= low <= successes / count <= high <= 1
    assert low < high
    other_low, other_high = wilson(count - successes, count)  # right and wrong are two sides of one thing
    assert (low, high) == pytest.approx((1 - other_high, 1 - other_low), abs=1e-12)
