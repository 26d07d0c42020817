import numpy as np
import pytest

from anira.measure.claims.verdict import Evidence, judge
from anira.measure.statistics.estimates import Estimate

CONSTANT = Estimate(None, reason="the depth is constant")


def evidence(*values):
    return [
        Evidence(seed, value if isinstance(value, Estimate) else Estimate(value)) for seed, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((0.3, 0.31, 0.29), "supported"),
        ((0.3, 0.31, 0.29, 0.3), "supported"),
        ((-0.3, -0.31, -0.29), "contradicted"),
        ((0.3, 0.31), "inconclusive"),
        ((-0.3,), "inconclusive"),
        ((0.3, 0.31, -0.3), "inconclusive"),
        ((0.1, 0.6, 0.01), "inconclusive"),
        ((0.3, 0.31, 0.29, CONSTANT), "supported"),
        ((0.3, 0.31, CONSTANT), "inconclusive"),
        ((CONSTANT, CONSTANT, CONSTANT), "not testable"),
        ((CONSTANT,), "not testable"),
        ((), "not testable"),
    ],
)
def test_the_interval_over_seeds_decides(values, expected):
    assert judge(evidence(*values)).word == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((0.11, 0.12, 0.13), "supported"),
        ((0.01, 0.02, 0.03), "contradicted"),
        ((0.0, 0.0, 0.0), "contradicted"),
        ((0.06, 0.08, 0.1), "inconclusive"),
    ],
)
def test_an_effect_too_small_to_matter_supports_nothing(values, expected):
    assert judge(evidence(*values), smallest=0.1).word == expected


def test_a_seed_that_cannot_be_judged_is_left_out_and_named():
    failed = Evidence(3, Estimate(0.3), "accuracy is not above the majority baseline")
    mixed = judge([*evidence(0.3, 0.31, 0.29), failed])
    assert mixed.word == "supported"
    assert mixed.reason.endswith("; left out because it cannot be judged: accuracy is not above the majority baseline")
    assert judge([failed]).word == "not testable"


def test_one_seed_looked_at_three_times_is_one_seed():
    assert judge([Evidence(0, Estimate(0.3))] * 3).reason == "1 seed, and 3 are needed"


def test_intervals_cover_a_true_mean_of_seeds_as_often_as_they_promise():
    """With five seeds drawn around zero, one in twenty verdicts is wrong, half of them on either side."""
    rng = np.random.default_rng(0)
    words = [judge(evidence(*rng.normal(size=5))).word for _ in range(2000)]
    assert 0.015 < words.count("supported") / len(words) < 0.035
    assert 0.015 < words.count("contradicted") / len(words) < 0.035


def test_what_is_undefined_anyway_is_not_blamed_on_accuracy():
    assert judge([Evidence(0, CONSTANT, "accuracy is not above the baseline")]).reason == "the depth is constant"


def test_reasons_name_the_seeds_where_they_differ():
    both = judge([Evidence(0, CONSTANT), Evidence(5, Estimate(0.3), "no")])
    assert both.reason == "seed 0: the depth is constant; seed 5: no"
