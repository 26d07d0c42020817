"""Depth against the knob and against the position: planted effects are found, and their absence is not."""

import numpy as np
import polars as pl
import pytest
from scipy import stats
from tests.unit.measure.records_support import Plan, write_evaluation

from anira.measure.alignment import INSEPARABLE, alignment_rows, position_rows
from anira.measure.records.loading import Evaluation, load_evaluation
from anira.measure.records.reading import Records, read_records
from anira.measure.tidy import Labels, find, make_table

NAMES = ("slope", "spearman_knob", "expected_slope", "expected_spearman")
LABELS = Labels(
    run_id="toy/0", task="toy", subtask="", variant="toy", policy="toy", seed=0, step=1, select="", threshold=None,
    decode="parallel",
)  # fmt: skip


def records(folder, plan):
    return read_records(load_evaluation(write_evaluation(folder, plan)))


def aligned(folder, plan, *, seed=0, draws=400):
    return make_table(alignment_rows(records(folder, plan), rng=np.random.default_rng(seed), draws=draws))


def test_a_planted_rise_is_found_in_every_reading_and_subset(tmp_path):
    table = aligned(tmp_path / "e", Plan(slope=0.5, answers=3))
    for name in NAMES:
        for subset in ("all", "right"):
            row = find(table, name, subset=subset)
            assert row["low"] > 0
            assert row["null_low"] < 0 < row["null_high"] < row["value"]
    assert find(table, "slope")["low"] < 0.5 < find(table, "slope")["high"]


def test_a_planted_fall_is_found(tmp_path):
    table = aligned(tmp_path / "e", Plan(slope=-0.3, max_depth=9))
    assert all(find(table, name)["high"] < 0 for name in NAMES[:2])


@pytest.mark.slow
def test_nothing_is_found_where_nothing_is_more_often_than_promised(tmp_path):
    """Of 60 worlds without an effect about 3 show one; more than 8 would be a wrong interval (p < 0.01)."""
    wrong = 0
    for world in range(60):
        row = find(aligned(tmp_path / str(world), Plan(slope=0, n=40, draw=world), seed=world, draws=200), "slope")
        wrong += not row["low"] <= 0 <= row["high"]
    assert stats.binom.sf(8, 60, 0.05) < 0.01
    assert wrong <= 8


def test_values_agree_with_scipy(tmp_path):
    one = records(tmp_path / "e", Plan(slope=0.3, answers=3))
    means = (one.instances["answer_depth"] / one.instances["answer_tokens"]).to_numpy()
    table = make_table(alignment_rows(one, rng=np.random.default_rng(0), draws=50))
    assert find(table, "slope")["value"] == pytest.approx(stats.linregress(one.instances["knob"], means).slope)
    expected = stats.spearmanr(one.instances["knob"], means).statistic
    assert find(table, "spearman_knob")["value"] == pytest.approx(expected)


def test_unseen_knobs_bring_rows_without_them(tmp_path):
    table = aligned(tmp_path / "e", Plan(knobs=(1, 2, 3, 8), seen=(1, 2, 3)))
    assert find(table, "slope", split="seen")["n"] == 300
    assert find(table, "slope", split="all")["n"] == 400


def test_constant_depth_and_a_single_knob_are_undefined_not_zero(tmp_path):
    flat = aligned(tmp_path / "flat", Plan(max_depth=1, expected=False))
    single = aligned(tmp_path / "single", Plan(knobs=(3,)))
    for table, reason in ((flat, "the depth is constant"), (single, "the knob is constant")):
        for name in NAMES[:2]:
            row = find(table, name)
            assert (row["value"], row["null_low"], row["reason"]) == (None, None, reason)


def control(position, knob, depth):
    """The shares of the variance of depth that position, knob and both explain."""
    tokens = pl.DataFrame(
        {"target_kind": "answer", "position": position, "knob": knob, "exit_depth": pl.Series(depth, dtype=pl.Int16)}
    )
    one = Records(Evaluation(None, {}, None, tokens.lazy(), ()), LABELS, 9, pl.DataFrame({"split": ["seen"]}))
    table = make_table(position_rows(one))
    return {name: find(table, f"r2_{name}", subset="answer") for name in ("position", "knob", "both")}


def explained(groups, depth):
    """R2 of group means, the long way."""
    fitted = np.array([depth[groups == group].mean() for group in groups])
    return 1 - ((depth - fitted) ** 2).sum() / ((depth - depth.mean()) ** 2).sum()


def test_shares_are_those_of_the_means():
    rng = np.random.default_rng(0)
    position, knob, depth = rng.integers(5, 9, 300), rng.integers(1, 4, 300), rng.integers(1, 7, 300)
    found = control(position, knob, depth + knob)
    assert found["position"]["value"] == pytest.approx(explained(position, depth + knob))
    assert found["knob"]["value"] == pytest.approx(explained(knob, depth + knob))
    assert found["both"]["value"] == pytest.approx(explained(10 * position + knob, depth + knob))
    assert (found["both"]["n"], found["both"]["reason"]) == (300, "")


def test_depth_that_counts_positions_is_explained_by_position_and_depth_that_follows_the_knob_is_not():
    position, knob = np.arange(200) % 8, np.arange(200) % 3
    counts = control(position, knob, position + 1)
    assert counts["position"]["value"] == counts["both"]["value"] == pytest.approx(1)
    assert counts["knob"]["value"] < 0.1
    rng = np.random.default_rng(0)
    position, knob = rng.integers(0, 8, 500), rng.integers(1, 5, 500)
    follows = control(position, knob, knob)
    assert follows["knob"]["value"] == follows["both"]["value"] == pytest.approx(1)
    assert follows["position"]["value"] < 0.1


def test_where_the_position_determines_the_knob_it_says_so(tmp_path):
    table = make_table(position_rows(records(tmp_path / "mano", Plan(slope=0.5))))
    assert find(table, "r2_position", subset="answer")["reason"] == INSEPARABLE
    assert find(table, "r2_position", subset="prompt")["reason"] == ""


def test_constant_depth_has_no_variance_to_explain():
    found = control([1, 2, 3], [1, 1, 2], [4, 4, 4])
    assert {row["value"] for row in found.values()} == {None}
    assert "the depth is constant" in found["position"]["reason"]
