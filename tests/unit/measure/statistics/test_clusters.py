"""Intervals over clusters: known cases, and coverage where the truth and the clustering were planted."""

import numpy as np
import pytest
from scipy import stats

from anira.measure.statistics.clusters import clustered_mean, clustered_share, ratio
from anira.measure.statistics.estimates import proportion

SETS = 400


def planted(rng, *, templates, instances, between):
    """Right answers of templates whose probabilities are Beta with mean 0.4; `between` 0 is no clustering."""
    share = np.full(templates, 0.4) if not between else rng.beta(0.4 / between, 0.6 / between, templates)
    right = (rng.random((templates, instances)) < share[:, None]).astype(float)
    return right.ravel(), np.repeat(np.arange(templates), instances)


@pytest.mark.parametrize("templates", [50, 100])
@pytest.mark.parametrize("between", [0.0, 0.2, 2.0])
def test_intervals_of_shares_cover_the_truth(templates, between):
    rng = np.random.default_rng(0)
    found = [clustered_share(*planted(rng, templates=templates, instances=20, between=between)) for _ in range(SETS)]
    covered = np.mean([one.low <= 0.4 <= one.high for one in found])
    assert 0.92 <= covered <= 0.985


def test_an_interval_that_forgets_the_clusters_does_not_cover():
    rng = np.random.default_rng(0)
    sets = [planted(rng, templates=50, instances=20, between=2.0)[0] for _ in range(SETS)]
    naive = [proportion(int(right.sum()), len(right)) for right in sets]
    assert np.mean([one.low <= 0.4 <= one.high for one in naive]) < 0.7


def test_intervals_of_means_per_token_cover_the_truth():
    rng = np.random.default_rng(1)
    covered = []
    for _ in range(SETS):
        level = rng.normal(4.0, 0.5, 50)  # depth of each template; answers have different lengths
        tokens = rng.integers(20, 60, (50, 10))
        sums = tokens * level[:, None] + rng.normal(0, 3, (50, 10))
        one = clustered_mean(sums.ravel(), tokens.ravel(), np.repeat(np.arange(50), 10), undefined="")
        covered.append(one.low <= 4.0 <= one.high)
    assert 0.92 <= np.mean(covered) <= 0.985


def test_one_question_per_template_is_the_ordinary_mean():
    values = np.random.default_rng(2).normal(size=30)
    one = clustered_mean(values, np.ones(30), np.arange(30), undefined="")
    low, high = stats.t.interval(0.95, 29, values.mean(), values.std(ddof=1) / np.sqrt(30))
    assert (one.value, one.low, one.high) == pytest.approx((values.mean(), low, high))


def test_repeating_every_question_changes_nothing():
    right = np.random.default_rng(3).integers(0, 2, 40).astype(float)
    once = clustered_share(right, np.arange(40))
    often = clustered_share(np.repeat(right, 25), np.repeat(np.arange(40), 25))
    assert (often.value, often.low, often.high) == pytest.approx((once.value, once.low, once.high))


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_all_wrong_or_all_right_counts_each_template_once(value):
    one = clustered_share(np.full(1000, value), np.repeat(np.arange(20), 50))
    assert one.value == value
    assert 0.1 < one.high - one.low < 0.25
    assert value in (one.low, one.high)


def test_too_little_says_so():
    assert clustered_share(np.ones(5), np.zeros(5, dtype=int)).reason == "fewer than two templates"
    assert clustered_mean([], [], np.array([], dtype=int), undefined="no tokens").reason == "no tokens"
    assert ratio([1.0], [0.0], np.array([0])) is None
