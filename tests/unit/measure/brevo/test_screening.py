"""The first stage: which features go, in which order, and why."""

import math

import numpy as np
import pytest
from statsmodels.stats.outliers_influence import variance_inflation_factor

from anira.measure.brevo.screening import inflation, screen
from anira.measure.statistics.explained import Moments

N = 4000
RNG = np.random.default_rng(0)
A, B, C, D = RNG.normal(size=(4, N))


def found(columns, target, **options):
    moments = Moments({**columns, "y": target}, np.arange(N), np.zeros(N))
    return screen(moments.explained(), "y", list(columns), **options)


def test_of_two_that_say_the_same_the_one_closer_to_the_target_stays():
    columns = {"a": A, "twin": A + 0.3 * B, "c": C}
    assert found(columns, A + C)[0] == ("a", "c")
    result = found(columns, A + 0.3 * B + C)
    assert result[0] == ("twin", "c")
    assert result[1] == {"a": f"r = {np.corrcoef(A, A + 0.3 * B)[0, 1]:.3f} with twin"}


def test_the_closest_pair_is_looked_at_first():
    columns = {"a": A, "near": A + 0.5 * B, "nearer": A + 0.1 * C}
    result = found(columns, A + D)
    assert list(result[1]) == ["nearer", "near"]


def test_a_mirror_image_is_a_pair_too():
    assert found({"a": A, "mirror": -A + 0.1 * B}, A + D)[0] == ("a",)


def test_the_highest_inflation_goes_first_and_the_rest_is_looked_at_again():
    columns = {"a": A, "b": B, "c": C, "sum": A + B + C + 0.5 * D}
    result = found(columns, A + 0.5 * B + 0.2 * C)
    exog = np.stack([np.ones(N), *columns.values()], axis=1)
    factor = variance_inflation_factor(exog, 4)
    assert factor >= 5
    assert max(variance_inflation_factor(exog, i) for i in (1, 2, 3)) < factor
    assert result[0] == ("a", "b", "c")
    assert result[1] == {"sum": f"VIF = {factor:.1f}"}


def test_what_others_determine_is_dropped_where_it_says_least():
    result = found({"a": A, "b": B, "c": C, "sum": A + B + C}, A + 0.5 * B + D)
    assert result[1] == {"c": "determined by the others"}


def test_constant_features_go_and_kept_ones_stay():
    columns = {"flat": np.full(N, 3.0), "size": A, "twin": A + 0.3 * B}
    result = found(columns, A + 0.3 * B, always=("size",))
    assert result[0] == ("size",)
    assert result[1]["flat"] == "constant"
    assert found({"size": np.ones(N), "a": A}, A, always=("size",))[0] == ("a",)


def test_inflation_is_that_of_statsmodels():
    columns = {"a": A, "b": A + B, "c": C}
    explained = Moments(columns, np.arange(N), np.zeros(N)).explained()
    exog = np.stack([np.ones(N), *columns.values()], axis=1)
    for i, name in enumerate(columns, start=1):
        others = [other for other in columns if other != name]
        assert inflation(explained, name, others) == pytest.approx(variance_inflation_factor(exog, i))
    assert math.isinf(inflation(Moments({"a": A, "b": 2 * A}, np.arange(N), np.zeros(N)).explained(), "a", ["b"]))
