"""The two phases: planted ones are recovered within their intervals, noise and plateaus are not taken for them."""

import numpy as np
import polars as pl
import pytest
from tests.unit.measure.dynamics_support import LABELS, Training, batch_depths

from anira.measure.statistics.estimates import Estimate
from anira.measure.tidy import estimate, find, make_table
from anira.measure.training.phases import PARTS, phase_rows, wobble_of

TWO = ((0, 2.0), (0.1, 3.5), (0.4, 3.5), (1, 2.5))
PLATEAU = ((0, 2.0), (0.1, 3.5), (1, 3.5))
FLAT = ((0, 3.0), (1, 3.0))


def evaluations(first=0.5, last=0.9, instances=400):
    return pl.DataFrame({"step": [40, 120], "instances": [instances] * 2, "accuracy": [first, last]})


def phases(depth, found=None):
    batches = pl.DataFrame({"step": np.arange(1, len(depth) + 1), "depth": depth})
    table = make_table(phase_rows(LABELS, batches, evaluations() if found is None else found))
    names = ("peak_step", "accuracy_kept", *PARTS)
    return {"blocks": table.filter(quantity="block_depth"), **{name: estimate(find(table, name)) for name in names}}


def drawn(corners, draw, count=120, noise=0.1):
    return batch_depths(Training(depth=corners, noise=noise), count, np.random.default_rng(draw))


def covers(estimate, value):
    return estimate.low <= value <= estimate.high


def two(found):
    """Whether rise and fall are both sure."""
    return found["depth_rise"].direction == found["depth_fall"].direction == 1


def test_planted_phases_are_recovered():
    found = phases(drawn(TWO, 0))
    assert 12 < found["peak_step"].value < 60
    assert two(found)
    assert found["peak_depth"].value == pytest.approx(3.5, abs=0.15)


def test_intervals_cover_the_planted_rise_and_fall():
    # The last block is a mean over the last twelfth of a line that falls by 1 in 0.6 of the training.
    fall = 1 - 1 / 0.6 / 24
    made = [phases(drawn(TWO, draw)) for draw in range(60)]
    assert np.mean([covers(one["depth_rise"], 1.5) for one in made]) > 0.9
    assert np.mean([covers(one["depth_fall"], fall) for one in made]) > 0.85
    assert np.mean([two(one) for one in made]) > 0.9


@pytest.mark.parametrize("corners", [FLAT, PLATEAU])
def test_noise_and_plateaus_are_no_phases(corners):
    made = [phases(drawn(corners, draw)) for draw in range(60)]
    assert np.mean([two(one) for one in made]) < 0.05
    assert np.mean([covers(one["depth_fall"], 0) for one in made]) > 0.9


def test_a_peak_is_not_as_high_as_the_luckiest_block():
    made = [phases(drawn(FLAT, draw)) for draw in range(60)]
    assert np.mean([one["blocks"]["value"].max() for one in made]) > 3.03
    assert np.mean([one["peak_depth"].value for one in made]) == pytest.approx(3, abs=0.015)


def test_depth_that_only_falls_or_only_rises_has_one_phase():
    only_falls, only_rises = phases(drawn(((0, 4.0), (1, 2.0)), 0)), phases(drawn(((0, 2.0), (1, 4.0)), 0))
    assert (only_falls["depth_fall"].direction, only_falls["depth_rise"].direction) in ((1, 0), (1, -1))
    assert (only_rises["depth_rise"].direction, only_rises["depth_fall"].direction) in ((1, 0), (1, -1))


def test_accuracy_is_counted_over_all_knobs():
    table = pl.DataFrame({"step": [10, 10, 120], "instances": [100, 300, 400], "accuracy": [1.0, 0.2, 0.9]})
    kept = [phases(drawn(TWO, 0), one)["accuracy_kept"] for one in (table, table.filter(step=120), table.clear())]
    assert kept[0].value == pytest.approx(0.9 - 0.4)
    assert kept[1].reason == "depth is highest at the last evaluation"
    assert kept[2].reason == "there is no evaluation"


def test_what_is_undefined_says_why():
    few, none, constant = (phases(depth) for depth in (np.array([2.0, 3.0, 2.0]), np.array([]), np.full(120, 4.0)))
    assert few["depth_rise"] == Estimate(None, reason="too few logged batches: 3, and 18 are needed")
    assert few["peak_step"].value is none["depth_fall"].value is None
    assert constant["depth_fall"].reason == "the depth is constant"
    assert phases(drawn(TWO, 0, count=18))["depth_rise"].value is not None


@pytest.mark.parametrize("count", [18, 19, 20, 35, 120, 125, 131])
def test_blocks_hold_every_batch_once(count):
    depth = drawn(TWO, 0, count=count)
    blocks = phases(depth)["blocks"]
    assert blocks["n"].sum() == count
    assert blocks["n"][1:].n_unique() == 1
    assert blocks["step"].is_sorted()
    assert (blocks["value"] * blocks["n"]).sum() == pytest.approx(depth.sum())


def test_the_wobble_is_that_of_the_noise_whatever_the_trend():
    rng = np.random.default_rng(0)
    assert wobble_of(np.linspace(1, 9, 4000) + 0.3 * rng.normal(size=4000)) == pytest.approx(0.3, rel=0.05)
