"""The two phases: planted ones are recovered within their intervals, noise and plateaus are not taken for them."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from tests.unit.measure.dynamics_support import Training, batch_depths

from anira.measure.training.phases import find_phases, wobble_of

TWO = ((0, 2.0), (0.1, 3.5), (0.4, 3.5), (1, 2.5))
PLATEAU = ((0, 2.0), (0.1, 3.5), (1, 3.5))
FLAT = ((0, 3.0), (1, 3.0))


def evaluations(first=0.5, last=0.9, instances=400):
    return pl.DataFrame({"step": [40, 120], "instances": [instances] * 2, "accuracy": [first, last]})


def phases(depth, found=None):
    batches = pl.DataFrame({"step": np.arange(1, len(depth) + 1), "depth": depth})
    return find_phases(batches, evaluations() if found is None else found)


def drawn(corners, draw, count=120, noise=0.1):
    return batch_depths(Training(depth=corners, noise=noise), count, np.random.default_rng(draw))


def covers(estimate, value):
    return estimate.low <= value <= estimate.high


def test_planted_phases_are_recovered():
    found = phases(drawn(TWO, 0))
    assert 12 < found.boundary < 60
    assert found.rise.direction == found.fall.direction == 1
    assert found.weakest in (found.rise, found.fall)
    assert found.level.value == pytest.approx(3.5, abs=0.15)


def test_intervals_cover_the_planted_rise_and_fall():
    # The last block is a mean over the last twelfth of a line that falls by 1 in 0.6 of the training.
    fall = 1 - 1 / 0.6 / 24
    made = [phases(drawn(TWO, draw)) for draw in range(60)]
    assert np.mean([covers(one.rise, 1.5) for one in made]) > 0.9
    assert np.mean([covers(one.fall, fall) for one in made]) > 0.85
    assert np.mean([one.weakest.direction for one in made]) > 0.9


@pytest.mark.parametrize("corners", [FLAT, PLATEAU])
def test_noise_and_plateaus_are_no_phases(corners):
    made = [phases(drawn(corners, draw)) for draw in range(60)]
    assert np.mean([one.weakest.direction == 1 for one in made]) < 0.05
    assert np.mean([covers(one.fall, 0) for one in made]) > 0.9


def test_a_peak_is_not_as_high_as_the_luckiest_block():
    made = [phases(drawn(FLAT, draw)) for draw in range(60)]
    assert np.mean([max(block.depth for block in one.blocks) for one in made]) > 3.03
    assert np.mean([one.level.value for one in made]) == pytest.approx(3, abs=0.015)


def test_depth_that_only_falls_or_only_rises_has_one_phase():
    only_falls, only_rises = phases(drawn(((0, 4.0), (1, 2.0)), 0)), phases(drawn(((0, 2.0), (1, 4.0)), 0))
    assert (only_falls.fall.direction, only_falls.weakest) == (1, only_falls.rise)
    assert (only_rises.rise.direction, only_rises.weakest) == (1, only_rises.fall)
    assert only_rises.weakest.direction < 1


def test_a_lost_accuracy_speaks_against_the_claim():
    depth = drawn(TWO, 0)
    lost, kept = phases(depth, evaluations(0.9, 0.5)), phases(depth, evaluations(0.9, 0.89))
    assert (lost.kept.value, lost.weakest) == (pytest.approx(-0.4), lost.kept)
    assert kept.kept.direction == 0
    assert kept.weakest.direction == 1


def test_accuracy_is_counted_over_all_knobs():
    table = pl.DataFrame({"step": [10, 10, 120], "instances": [100, 300, 400], "accuracy": [1.0, 0.2, 0.9]})
    assert phases(drawn(TWO, 0), table).kept.value == pytest.approx(0.9 - 0.4)
    assert phases(drawn(TWO, 0), table.filter(step=120)).kept.reason == "depth is highest at the last evaluation"
    assert phases(drawn(TWO, 0), table.clear()).kept.reason == "there is no evaluation"


def test_too_few_batches_say_so():
    found = phases(np.array([2.0, 3.0, 2.0]))
    assert found.rise.reason == "too few logged batches: 3, and 18 are needed"
    assert (found.peak, found.boundary, found.weakest) == (None, None, found.rise)
    assert phases(np.array([])).fall.value is None
    assert phases(drawn(TWO, 0, count=18)).rise.value is not None


def test_a_constant_depth_has_no_phases():
    assert phases(np.full(120, 4.0)).weakest.reason == "the depth is constant"


@pytest.mark.parametrize("count", [18, 19, 20, 35, 120, 125, 131])
def test_blocks_hold_every_batch_once(count):
    blocks = phases(drawn(TWO, 0, count=count)).blocks
    assert (blocks[0].first, blocks[-1].last) == (1, count)
    assert all(one.last + 1 == other.first for one, other in pairwise(blocks))
    assert len({block.last - block.first for block in blocks[1:]}) == 1


def test_the_wobble_is_that_of_the_noise_whatever_the_trend():
    rng = np.random.default_rng(0)
    assert wobble_of(np.linspace(1, 9, 4000) + 0.3 * rng.normal(size=4000)) == pytest.approx(0.3, rel=0.05)
