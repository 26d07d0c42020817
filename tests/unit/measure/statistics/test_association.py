import numpy as np
import pytest
from scipy import stats

from anira.measure.statistics.association import Mean, Slope, Spearman, rank_correlation, standardised, why_undefined

NAMES = ("knob", "depth")


def ones(n):
    return np.ones((n, 1))


def test_tokens_count_alike_in_a_mean_and_groups_stay_apart():
    mean = Mean([6, 8, 5, 100], [2, 4, 1, 1], np.array([0, 0, 1, -1]), 3, undefined="nothing")
    np.testing.assert_allclose(mean(ones(4))[:, 0], [14 / 6, 5, np.nan])
    np.testing.assert_allclose(mean(np.array([[1.0], [0], [2], [9]]))[:, 0], [3, 5, np.nan])


class TestSlope:
    def test_instances_without_depth_are_left_out(self):
        x, y = np.array([1.0, 2, 3, 4]), np.array([2.0, np.nan, 6, 8])
        assert Slope(x, y, names=NAMES)(ones(4))[0, 0] == pytest.approx(2)

    def test_numbers_far_from_zero_lose_no_digits(self):
        x = np.arange(100.0) + 1e6
        y = 1e-3 * x + np.random.default_rng(0).normal(scale=1e-4, size=100)
        assert Slope(x, y, names=NAMES)(ones(100))[0, 0] == pytest.approx(stats.linregress(x, y).slope, rel=1e-6)

    @pytest.mark.parametrize(
        ("x", "y", "reason"),
        [
            ([1.0, 2, 3], [4.0, 4, 4], "the depth is constant"),
            ([2.0, 2, 2], [4.0, 5, 6], "the knob is constant"),
            ([2.0, 2, 2], [4.0, 4, 4], "the knob and the depth are constant"),
            ([1.0, 2, 3], [np.nan, 4, np.nan], "fewer than two values"),
            ([1.0, 2, 3], [np.nan, np.nan, np.nan], "fewer than two values"),
        ],
    )
    def test_undefined_is_not_zero(self, x, y, reason):
        slope = Slope(np.array(x), np.array(y), names=NAMES)
        assert np.isnan(slope(ones(3))).all()
        assert slope.undefined == reason

    def test_a_resample_in_which_depth_is_constant_is_undefined(self):
        slope = Slope(np.array([1.0, 2, 3]), np.array([4.0, 4, 5]), names=NAMES)
        weights = np.array([[1.0, 2], [1, 1], [1, 0]])
        values = slope(weights)[0]
        assert values[0] == pytest.approx(0.5)
        assert np.isnan(values[1])


class TestSpearman:
    def test_a_golden_table_with_ties(self):
        x, y = np.array([1, 1, 2, 2, 3, 3.0]), np.array([2, 3, 3, 4, 4, 4.0])
        value = Spearman(x, y, np.arange(6), 6, names=NAMES)(ones(6))[0, 0]
        assert value == pytest.approx(stats.spearmanr(x, y).statistic)

    @pytest.mark.parametrize("constant", ["x", "y", "both"])
    def test_undefined_where_something_is_constant(self, constant):
        x = np.full(4, 7.0) if constant != "y" else np.arange(4.0)
        y = np.full(4, 7.0) if constant != "x" else np.arange(4.0)
        spearman = Spearman(x, y, np.arange(4), 4, names=NAMES, classes=2)
        assert np.isnan(spearman(ones(4))).all()
        assert spearman.undefined
        assert np.isnan(rank_correlation(x, y))

    def test_no_rows_at_all(self):
        empty = np.empty(0)
        spearman = Spearman(empty, empty, np.empty(0, dtype=int), 5, names=NAMES)
        assert np.isnan(spearman(np.ones((5, 2)))).all()
        assert spearman.undefined == "fewer than two values"

    def test_classes_move_the_replicates_little_and_the_value_not_at_all(self):
        rng = np.random.default_rng(0)
        x = rng.normal(size=5000)
        y = 0.5 * x + rng.normal(size=5000)
        instance = np.repeat(np.arange(500), 10)
        exact = Spearman(x, y, instance, 500, names=NAMES)
        classed = Spearman(x, y, instance, 500, names=NAMES, classes=128)
        assert classed(ones(500))[0, 0] == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
        weights = rng.multinomial(500, np.full(500, 1 / 500), size=50).T.astype(float)
        difference = classed(weights) - exact(weights)
        assert 0 < np.abs(difference).max() < 1e-3
        assert exact(weights).std() > 10 * difference.std()


def test_standardised_products_are_correlations():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=50), rng.normal(size=50)
    assert standardised(x) @ standardised(y) == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert np.isnan(standardised(np.full(3, 0.1))).all()
    assert len(standardised(np.empty(0))) == 0


def test_why_undefined_is_silent_where_nothing_is():
    assert why_undefined(np.array([1.0, 2]), np.array([2.0, 1]), NAMES) == ""
