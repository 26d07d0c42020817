import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from anira.measure.statistics.estimates import Estimate, corrected_for_number, percentile, proportion, wilson


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_wilson_is_the_textbook_interval(level):
    counts = np.array([1, 2, 10, 97, 1000, 1000, 1000])
    successes = np.array([1, 0, 8, 50, 0, 1000, 999])
    expected = proportion_confint(successes, counts, alpha=1 - level, method="wilson")
    np.testing.assert_allclose(wilson(successes, counts, level), expected, atol=1e-12)


def test_wilson_of_nothing_is_undefined():
    low, high = wilson([0, 1], [0, 2])
    assert np.isnan([low[0], high[0]]).all()
    assert low[1] < 0.5 < high[1]
    assert proportion(0, 0) == Estimate(None, reason="no instances")


def test_a_perfect_score_has_an_interval_all_the_same():
    perfect = proportion(20, 20)
    assert perfect.value == perfect.high == 1
    assert 0.8 < perfect.low < 0.9


@pytest.mark.parametrize(
    ("estimate", "direction"),
    [
        (Estimate(0.3, 0.1, 0.5), 1),
        (Estimate(-0.3, -0.5, -0.1), -1),
        (Estimate(0.3, -0.1, 0.5), 0),
        (Estimate(0.3, 0.0, 0.5), 0),
        (Estimate(0.3, reason="too few"), 0),
        (Estimate(None, reason="constant"), 0),
    ],
)
def test_direction_needs_an_interval_without_zero(estimate, direction):
    assert estimate.direction == direction


def test_text_never_shows_a_number_that_is_not_there():
    assert Estimate(0.123, 0.1, 0.2).text(1) == "0.1 [0.1, 0.2]"
    assert Estimate(-0.001, -0.1, 0.1).text() == "0.00 [-0.10, 0.10]"
    assert Estimate(0.5, reason="too few").text() == "0.50 [no interval: too few]"
    assert Estimate(None, reason="too few").text() == "undefined (too few)"


def test_percentile_holds_the_middle_of_the_replicates():
    estimate = percentile(50.0, np.arange(101.0), "never")
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx((50.0, 2.5, 97.5))


def test_few_undefined_replicates_are_left_out_many_take_the_interval_away():
    replicates = np.arange(100.0)
    replicates[:5] = np.nan
    assert percentile(50.0, replicates, "never").low > 5
    replicates[:6] = np.nan
    lost = percentile(50.0, replicates, "never")
    assert (lost.value, lost.low, lost.high) == (50.0, None, None)
    assert "6% of the resamples" in lost.reason


def test_an_undefined_value_keeps_its_reason():
    assert percentile(float("nan"), np.zeros(10), "the depth is constant") == Estimate(
        None, reason="the depth is constant"
    )


@pytest.mark.parametrize("pvalues", [[0.2], [0.001, 0.04, 0.03], [0.5, 0.01, 0.01, 0.9, 0.0, 1.0]])
def test_p_values_are_corrected_as_statsmodels_does(pvalues):
    np.testing.assert_allclose(corrected_for_number(pvalues), multipletests(pvalues, method="holm")[1], rtol=1e-15)
    assert corrected_for_number([]).size == 0
