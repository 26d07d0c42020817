"""The bootstrap on weights is the bootstrap on rows, clustered by instance; and its intervals cover."""

import numpy as np
import pytest
from scipy import stats

from anira.measure.statistics.association import Mean, Slope, Spearman
from anira.measure.statistics.bootstrap import bootstrap, resamples


def clustered_tokens(rng, *, knobs=3, n=15, tokens=6, spread=1.0):
    """Return the instance and the depth of every token, and the knob of every instance; instances differ."""
    knob = np.repeat(np.arange(knobs), n)
    sizes = rng.integers(1, tokens + 1, size=len(knob))
    instance = np.repeat(np.arange(len(knob)), sizes)
    level = 3 + 0.3 * knob + rng.normal(scale=spread, size=len(knob))
    return instance, np.round(level[instance] + rng.normal(scale=0.5, size=len(instance))), knob


def means(instance, depth):
    return np.bincount(instance, weights=depth) / np.bincount(instance)


def replicates(statistic, knob, *, seed, draws=1500):
    rng = np.random.default_rng(seed)
    return np.concatenate([statistic(weights) for weights in resamples(knob, rng=rng, draws=draws)], axis=1)[0]


def naive(figure, knob, *, seed, draws=1500):
    """Resample instances within their knob as lists of indices, one resample at a time."""
    rng = np.random.default_rng(seed)
    groups = [np.flatnonzero(knob == value) for value in np.unique(knob)]
    return np.array([figure(np.concatenate([rng.choice(rows, len(rows)) for rows in groups])) for _ in range(draws)])


def rows_of(chosen, instance):
    """Return the tokens of the chosen instances, as often as each was chosen."""
    return np.concatenate([np.flatnonzero(instance == one) for one in chosen])


class TestWeights:
    def test_every_resample_keeps_the_size_of_every_knob(self):
        knob = np.repeat([3, 5, 9], [10, 25, 40])
        weights = np.concatenate(list(resamples(knob, rng=np.random.default_rng(0), draws=50)), axis=1)
        assert weights.shape == (75, 50)
        for value, size in ((3, 10), (5, 25), (9, 40)):
            assert (weights[knob == value].sum(0) == size).all()

    def test_where_a_knob_has_few_instances_all_are_resampled_together(self):
        knob = np.repeat([3, 5], [9, 40])
        weights = np.concatenate(list(resamples(knob, rng=np.random.default_rng(0), draws=50)), axis=1)
        assert (weights.sum(0) == 49).all()
        assert len(set(weights[knob == 3].sum(0))) > 1

    def test_chunks_add_up_to_the_draws_and_do_not_change_the_law(self, monkeypatch):
        monkeypatch.setattr("anira.measure.statistics.bootstrap._CHUNK", 100)
        chunks = list(resamples(np.zeros(30), rng=np.random.default_rng(0), draws=10))
        assert [chunk.shape for chunk in chunks] == [(30, 3)] * 3 + [(30, 1)]
        assert all((chunk.sum(0) == 30).all() for chunk in chunks)

    def test_a_weight_is_binomial(self):
        weights = np.concatenate(list(resamples(np.zeros(20), rng=np.random.default_rng(1), draws=4000)), axis=1)
        counts = np.bincount(weights[7].astype(int), minlength=8)[:8]
        expected = 4000 * stats.binom.pmf(np.arange(8), 20, 1 / 20)
        assert stats.chisquare(counts[:4], expected[:4] * counts[:4].sum() / expected[:4].sum()).pvalue > 0.001


class TestAgainstTheNaiveBootstrap:
    """Two samples of replicates from different seeds: the same law, though not the same numbers."""

    instance, depth, knob = clustered_tokens(np.random.default_rng(5))

    def test_mean_of_tokens(self):
        sums, counts = np.bincount(self.instance, weights=self.depth), np.bincount(self.instance)
        ours = replicates(Mean(sums, counts, np.zeros_like(self.knob), 1, undefined=""), self.knob, seed=1)
        theirs = naive(lambda chosen: self.depth[rows_of(chosen, self.instance)].mean(), self.knob, seed=2)
        assert stats.ks_2samp(ours, theirs).pvalue > 0.01
        # The test could fail: tokens resampled without their instances spread too little.
        rng = np.random.default_rng(3)
        tokens = np.array([rng.choice(self.depth, len(self.depth)).mean() for _ in range(1500)])
        assert stats.ks_2samp(ours, tokens).pvalue < 1e-6

    def test_slope(self):
        y = means(self.instance, self.depth)
        ours = replicates(Slope(self.knob.astype(float), y, names=("knob", "depth")), self.knob, seed=1)
        theirs = naive(lambda chosen: np.polyfit(self.knob[chosen], y[chosen], 1)[0], self.knob, seed=2)
        assert stats.ks_2samp(ours, theirs).pvalue > 0.01

    def test_spearman_over_instances(self):
        y = means(self.instance, self.depth)
        statistic = Spearman(self.knob, y, np.arange(len(y)), len(y), names=("knob", "depth"))
        ours = replicates(statistic, self.knob, seed=1)
        theirs = naive(lambda chosen: stats.spearmanr(self.knob[chosen], y[chosen]).statistic, self.knob, seed=2)
        assert stats.ks_2samp(ours, theirs).pvalue > 0.01

    @pytest.mark.parametrize("classes", [0, 32])
    def test_spearman_over_tokens(self, classes):
        probe = self.depth + np.random.default_rng(4).normal(scale=2, size=len(self.depth))
        statistic = Spearman(
            probe, self.depth, self.instance, len(self.knob), names=("probe", "depth"), classes=classes
        )
        ours = replicates(statistic, self.knob, seed=1)

        def figure(chosen):
            rows = rows_of(chosen, self.instance)
            return stats.spearmanr(probe[rows], self.depth[rows]).statistic

        theirs = naive(figure, self.knob, seed=2)
        assert stats.ks_2samp(ours, theirs).pvalue > 0.01


def test_intervals_cover_the_truth_as_often_as_they_say():
    """Tokens share their instance's level: 95% intervals of the mean and the slope cover in 95% of the worlds."""
    worlds, covered = 300, np.zeros(2)
    for world in range(worlds):
        rng = np.random.default_rng(world)
        knob = np.repeat(np.arange(4), 40)
        level = 3 + 0.3 * knob + rng.normal(size=len(knob))
        depth = level[:, None] + rng.normal(size=(len(knob), 5))
        statistics = {
            "mean": Mean(depth.sum(1), np.full(len(knob), 5), np.zeros_like(knob), 1, undefined=""),
            "slope": Slope(knob.astype(float), depth.mean(1), names=("knob", "depth")),
        }
        found = bootstrap(statistics, knob, rng=rng, draws=400)
        for i, (name, truth) in enumerate((("mean", 3.45), ("slope", 0.3))):
            (estimate,) = found[name]
            covered[i] += estimate.low <= truth <= estimate.high
    error = np.sqrt(0.95 * 0.05 / worlds)
    np.testing.assert_allclose(covered / worlds, 0.95, atol=3 * error)


def test_the_same_seed_gives_the_same_interval_and_another_one_another():
    rng = np.random.default_rng(0)
    knob, depth = np.repeat(np.arange(3), 30), rng.normal(size=90)
    slope = {"slope": Slope(knob.astype(float), depth, names=("knob", "depth"))}
    first, again, other = (bootstrap(slope, knob, rng=np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first == again
    assert first["slope"][0].value == other["slope"][0].value
    assert first["slope"][0].low != other["slope"][0].low
