import pytest

from anira.measure.claims.verdict import Evidence, judge
from anira.measure.statistics.estimates import Estimate

UP, DOWN, FLAT = Estimate(0.3, 0.2, 0.4), Estimate(-0.3, -0.4, -0.2), Estimate(0.1, -0.1, 0.3)
CONSTANT, FEW = Estimate(None, reason="the depth is constant"), Estimate(0.3, reason="too few instances")


def word(*estimates):
    return judge([Evidence(seed, estimate) for seed, estimate in enumerate(estimates)]).word


@pytest.mark.parametrize(
    ("estimates", "expected"),
    [
        ((UP, UP, UP), "supported"),
        ((UP, UP, UP, UP), "supported"),
        ((DOWN, DOWN, DOWN), "contradicted"),
        ((UP, UP), "inconclusive"),
        ((DOWN,), "inconclusive"),
        ((UP, UP, FLAT), "inconclusive"),
        ((UP, UP, DOWN), "inconclusive"),
        ((FLAT, FLAT, FLAT), "inconclusive"),
        ((UP, UP, UP, CONSTANT), "inconclusive"),
        ((UP, UP, UP, FEW), "inconclusive"),
        ((CONSTANT, CONSTANT, CONSTANT), "not testable"),
        ((CONSTANT,), "not testable"),
        ((), "not testable"),
    ],
)
def test_every_one_of_three_seeds_must_agree(estimates, expected):
    assert word(*estimates) == expected


def test_a_seed_that_has_not_learned_cannot_speak_and_is_not_dropped():
    learned = [Evidence(seed, UP) for seed in range(3)]
    failed = Evidence(3, UP, "accuracy is not above the majority baseline")
    mixed = judge([*learned, failed])
    assert mixed.word == "inconclusive"
    assert "1 of 4 seeds cannot speak (accuracy is not above" in mixed.reason
    assert judge([failed]).word == "not testable"


def test_one_seed_looked_at_three_times_is_one_seed():
    assert judge([Evidence(0, UP)] * 3).reason == "1 seed, and 3 are needed"


def test_what_is_undefined_anyway_is_not_blamed_on_accuracy():
    assert judge([Evidence(0, CONSTANT, "accuracy is not above the baseline")]).reason == "the depth is constant"


def test_reasons_name_the_seeds_where_they_differ():
    both = judge([Evidence(0, CONSTANT), Evidence(5, UP, "no")])
    assert both.reason == "seed 0: the depth is constant; seed 5: no"
