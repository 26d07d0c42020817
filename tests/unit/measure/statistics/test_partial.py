"""Correlations with something held fixed: against direct computation, whole and resampled."""

import numpy as np
import pytest
from scipy import stats

from anira.measure.statistics.partial import GivenGroup, GivenPosition
from anira.measure.statistics.within import Pairs

WHOLE = np.ones((12, 1))


def tokens(draw):
    """Tokens of 12 instances with a few values each, so that there are ties, and a group that moves both."""
    rng = np.random.default_rng(draw)
    instance = np.repeat(np.arange(12), rng.integers(3, 9, size=12))
    size = len(instance)
    group, position = rng.integers(0, 3, size=size), rng.integers(0, 15, size=size).astype(float)
    x = rng.integers(0, 6, size=size) + 2.0 * group + position / 3
    y = rng.integers(0, 6, size=size) + 0.5 * x - 3.0 * group
    return Pairs("probe", "depth", x.round(), y.round(), instance), position, group


def residual(values, design):
    return values - design @ np.linalg.lstsq(design, values, rcond=None)[0]


def left_over(x, y, design):
    """Correlate what a least-squares fit on a design leaves of the ranks of x and y."""
    return stats.pearsonr(*(residual(stats.rankdata(values), design) for values in (x, y))).statistic


def repeated(pairs, times, *others):
    """Return the tokens of each instance so many times over."""
    index = np.repeat(np.arange(len(pairs.x)), times[pairs.instance])
    return pairs.x[index], pairs.y[index], *(values[index] for values in others), index


@pytest.mark.parametrize("draw", range(5))
def test_given_position(draw):
    pairs, position, _ = tokens(draw)
    both = GivenPosition(pairs, position, 12)
    for times in (np.ones(12, dtype=int), np.random.default_rng(draw).integers(0, 4, size=12)):
        x, y, z, _ = repeated(pairs, times, position)
        plain, given = both(times[:, None].astype(float))[:, 0]
        assert plain == pytest.approx(stats.spearmanr(x, y).statistic)
        assert given == pytest.approx(left_over(x, y, np.stack([np.ones(len(z)), stats.rankdata(z)], axis=1)))


@pytest.mark.parametrize("draw", range(5))
def test_given_group(draw):
    pairs, _, group = tokens(draw)
    design = np.eye(3)[group]
    (found,) = GivenGroup(pairs, group, 12)(WHOLE)[:, 0]
    assert found == pytest.approx(left_over(pairs.x, pairs.y, design))
    # In a resample the ranks are those of all tokens, and the means of the groups its own.
    times = np.random.default_rng(draw).integers(0, 4, size=12)
    *_, design, index = repeated(pairs, times, design)
    ranks = [stats.rankdata(values)[index] for values in (pairs.x, pairs.y)]
    expected = stats.pearsonr(*(residual(values, design) for values in ranks)).statistic
    assert GivenGroup(pairs, group, 12)(times[:, None].astype(float))[0, 0] == pytest.approx(expected)


def test_what_groups_alone_make_is_gone():
    """Both follow the group and nothing else: correlated, and not within a group."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, size=1200)
    x, y = (5.0 * group + rng.normal(size=1200) for _ in range(2))
    pairs = Pairs("probe", "depth", x, y, np.arange(1200) % 12)
    assert GivenPosition(pairs, rng.random(1200), 12)(WHOLE)[0, 0] > 0.8
    assert abs(GivenGroup(pairs, group, 12)(WHOLE)[0, 0]) < 0.15


@pytest.mark.parametrize("constant", ["x", "y"])
def test_constants_are_undefined_with_a_reason(constant):
    pairs, position, group = tokens(0)
    flat = np.full(len(pairs.x), 2.0)
    x, y = (flat, pairs.y) if constant == "x" else (pairs.x, flat)
    pairs = Pairs("probe", "depth", x, y, pairs.instance)
    reason = f"the {'probe' if constant == 'x' else 'depth'} is constant"
    for statistic in (GivenPosition(pairs, position, 12), GivenGroup(pairs, group, 12)):
        assert np.isnan(statistic(WHOLE)).all()
        assert statistic.undefined == reason


def test_what_is_constant_in_every_group_is_undefined():
    pairs, _, group = tokens(0)
    pairs = Pairs("probe", "depth", group.astype(float), pairs.y, pairs.instance)
    statistic = GivenGroup(pairs, group, 12)
    assert np.isnan(statistic(WHOLE)).all()
    assert statistic.undefined == "constant in every group"


def test_a_probe_that_is_the_position_is_undefined_given_it():
    pairs, position, _ = tokens(0)
    statistic = GivenPosition(Pairs("probe", "depth", position, pairs.y, pairs.instance), position, 12)
    assert np.isfinite(statistic(WHOLE)[0, 0])
    assert np.isnan(statistic(WHOLE)[1, 0])
    assert statistic.undefined == "the position determines the probe or the depth"


def test_no_tokens_are_undefined():
    nothing = np.zeros(0)
    pairs = Pairs("probe", "depth", nothing, nothing, np.zeros(0, dtype=np.int64))
    for statistic in (GivenPosition(pairs, nothing, 12), GivenGroup(pairs, nothing.astype(int), 12)):
        assert np.isnan(statistic(WHOLE)).all()
        assert statistic.undefined == "fewer than two values"
