"""Shares of time: planted costs are recovered, and too little to judge from is said."""

import numpy as np
import pytest

from anira.measure.savings import core_time_ratio, deciding_ratio, median_estimate, time_ratio

FIXED, ITERATION, DECIDING = 2.0, 0.5, 0.3
SHARES = (0.25, 0.5, 0.0, 0.25)
MEAN = 0.25 * 1 + 0.5 * 2 + 0.25 * 4


def times(repeats, noise=0.0, seed=0):
    """Seconds of a model with planted costs; busy moments slow all ways of a repeat alike."""
    rng = np.random.default_rng(seed)
    busy = 1 + rng.random(repeats)

    def spread(seconds):
        return (seconds * busy * (1 + noise * rng.normal(size=repeats))).tolist()

    own = spread(FIXED + ITERATION * MEAN + DECIDING)
    return own, {depth: spread(FIXED + ITERATION * depth) for depth in (1, 2, 3, 4)}


def test_planted_costs_are_recovered():
    full = FIXED + 4 * ITERATION
    assert time_ratio(*times(9)).value == pytest.approx((FIXED + ITERATION * MEAN + DECIDING) / full)
    assert core_time_ratio(*times(9)).value == pytest.approx((ITERATION * MEAN + DECIDING) / (4 * ITERATION))
    assert deciding_ratio(*times(9), SHARES).value == pytest.approx(DECIDING / full)


def test_depths_that_were_not_forced_lie_between_those_that_were():
    own, forced = times(7)
    some = deciding_ratio(own, {depth: forced[depth] for depth in (1, 4)}, SHARES)
    assert some.value == pytest.approx(DECIDING / (FIXED + 4 * ITERATION))


def test_intervals_cover_the_truth_at_their_rate():
    truth = DECIDING / (FIXED + 4 * ITERATION)
    found = [deciding_ratio(*times(15, noise=0.02, seed=seed), SHARES) for seed in range(60)]
    assert sum(one.low <= truth <= one.high for one in found) >= 52


def test_one_depth_has_no_core_to_tell_apart():
    own, forced = [1.0] * 6, {1: [1.0] * 6}
    assert core_time_ratio(own, forced).reason == "there is one depth only"
    assert time_ratio(own, forced).value == 1


def test_a_core_that_takes_no_time_is_undefined():
    found = core_time_ratio([1.0] * 6, {1: [1.1] * 6, 2: [1.0] * 6})
    assert (found.value, found.reason) == (None, "less depth takes no less time here")


@pytest.mark.parametrize("count", [1, 5])
def test_few_repeats_have_a_median_and_no_interval(count):
    found = median_estimate([2.0] * count)
    assert (found.value, found.low, found.reason) == (2.0, None, "fewer than 6 repeats")


def test_no_repeats_are_undefined():
    assert median_estimate([]).reason == "no repeats"


def test_the_interval_lies_between_measured_values():
    values = [5.0, 1.0, 4.0, 2.0, 3.0, 9.0, 8.0, 7.0, 6.0]
    found = median_estimate(values)
    assert (found.low, found.value, found.high) == (2.0, 5.0, 8.0)
