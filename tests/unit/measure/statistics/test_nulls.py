import numpy as np
import pytest
from scipy import stats

from anira.measure.statistics.nulls import NULL_DRAWS, knob_nulls, orders_within


def test_the_knob_null_forgets_the_effect_and_has_the_spread_of_chance():
    rng = np.random.default_rng(0)
    knob = np.repeat(np.arange(1.0, 5), 100)
    depth = 2 + 0.8 * knob + rng.normal(size=400)
    slope, spearman = knob_nulls(knob, depth, rng=rng)
    assert slope.low < 0 < slope.high
    assert spearman.low < 0 < spearman.high
    # What theory says about shuffled data: sd of the slope and of a rank correlation.
    assert slope.high == pytest.approx(1.96 * depth.std() / (knob.std() * np.sqrt(399)), rel=0.25)
    assert spearman.high == pytest.approx(1.96 / np.sqrt(399), rel=0.25)
    assert stats.linregress(knob, depth).slope > 3 * slope.high


@pytest.mark.parametrize(
    ("knob", "depth"), [([1.0, 2, 3], [4.0, 4, 4]), ([2.0, 2, 2], [1.0, 2, 3]), ([], []), ([1.0], [1.0])]
)
def test_undefined_where_there_is_nothing_to_shuffle(knob, depth):
    assert knob_nulls(np.array(knob), np.array(depth), rng=np.random.default_rng(0)) == (None, None)


def test_orders_within_move_tokens_inside_their_instance_only():
    instance = np.repeat([0, 3, 4, 9], [1, 5, 5, 8])
    orders = np.array(list(orders_within(instance, rng=np.random.default_rng(0))))
    assert orders.shape == (NULL_DRAWS, 19)
    assert (np.sort(orders, axis=1) == np.arange(19)).all()
    assert (instance[orders] == instance).all()


def test_orders_within_are_uniform():
    rng = np.random.default_rng(0)
    instance = np.zeros(3, dtype=int)
    seen = [tuple(order) for _ in range(15) for order in orders_within(instance, rng=rng)]
    counts = np.unique(seen, axis=0, return_counts=True)[1]
    assert len(counts) == 6
    assert stats.chisquare(counts).pvalue > 0.001
