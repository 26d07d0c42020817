import numpy as np
import polars as pl
import pytest
from scipy import stats
from tests.sealing_support import edit_table
from tests.unit.measure.records_support import Plan, write_evaluation

from anira.measure.probes import probe_correlations
from anira.measure.records.instances import instance_table
from anira.measure.records.loading import load_evaluation
from anira.measure.statistics.within import standardised_within


def correlations(folder, *, draws=300):
    evaluation = load_evaluation(folder)
    rows = probe_correlations(evaluation, instance_table(evaluation), rng=np.random.default_rng(0), draws=draws)
    return {(row.probe, row.measure): row for row in rows}


def defined_tokens(folder, measure):
    tokens = pl.read_parquet(folder / "tokens-k*.parquet").filter(pl.col("probe_stack_depth").is_not_null())
    return tokens["instance_id"].to_numpy(), tokens["probe_stack_depth"].to_numpy(), tokens[measure].to_numpy()


@pytest.mark.parametrize("measure", ["exit_depth", "expected_depth"])
def test_values_agree_with_scipy(tmp_path, measure):
    folder = write_evaluation(tmp_path / "e", Plan(probe_effect=0.3))
    instance, probe, depth = defined_tokens(folder, measure)
    row = correlations(folder)["stack_depth", measure]
    assert row.tokens == len(probe)
    assert row.pooled.value == pytest.approx(stats.spearmanr(probe, depth).statistic)
    within = [
        stats.spearmanr(probe[own], depth[own]).statistic
        for own in (instance == one for one in np.unique(instance))
        if np.ptp(probe[own]) and np.ptp(depth[own])
    ]
    assert row.instances == len(within)
    assert row.within.value == pytest.approx(np.mean(within))


def test_a_planted_effect_is_found_and_its_absence_is_not(tmp_path):
    for row in correlations(write_evaluation(tmp_path / "effect", Plan(probe_effect=0.3))).values():
        assert row.pooled.direction == row.within.direction == 1
        assert row.within.value > row.null_within.high
        assert row.null_within.covers_zero
    for row in correlations(write_evaluation(tmp_path / "none", Plan(draw=2))).values():
        assert row.pooled.direction == row.within.direction == 0
        assert row.null_within.low < row.within.value < row.null_within.high


def test_differences_between_instances_show_in_the_pooled_null_only(tmp_path):
    """Probe and depth both rise with the knob, and have nothing to do with each other within an instance."""
    folder = write_evaluation(tmp_path / "e", Plan(max_depth=16))
    for knob in (1, 2, 3, 4):
        more = [pl.col(name) + knob for name in ("exit_depth", "executed", "probe_stack_depth")]
        edit_table(folder / f"tokens-k{knob:03d}.parquet", lambda table, more=more: table.with_columns(more))
    row = correlations(folder)["stack_depth", "exit_depth"]
    assert row.pooled.direction == 1
    assert row.within.direction == 0
    assert not row.null_pooled.covers_zero
    assert row.null_within.covers_zero
    assert row.null_pooled.mean == pytest.approx(row.pooled.value, abs=0.05)


def test_probes_defined_at_different_tokens_keep_their_own(tmp_path):
    folder = write_evaluation(tmp_path / "e", Plan(probe_effect=0.5))
    own = pl.when(pl.col("target_kind") == "answer").then("exit_depth").otherwise(None).cast(pl.Float32)
    for path in folder.glob("tokens-*"):
        edit_table(path, lambda table: table.with_columns(probe_own_depth=own))
    rows = correlations(folder)
    own = rows["own_depth", "exit_depth"]
    assert own.tokens == 400
    assert own.pooled.value == pytest.approx(1)
    assert own.within.value is None  # one answer token an instance: nothing varies within it
    assert own.within.reason == "in every instance the probe or the depth is constant"
    assert own.null_within is None
    assert rows["stack_depth", "exit_depth"].null_within.covers_zero


def test_constant_depth_is_undefined(tmp_path):
    rows = correlations(write_evaluation(tmp_path / "e", Plan(max_depth=1, expected=False)))
    assert rows.keys() == {("stack_depth", "exit_depth")}  # no expected depth, so no row for it
    row = rows["stack_depth", "exit_depth"]
    assert row.pooled.value is row.within.value is row.null_pooled is row.null_within is None
    assert row.pooled.reason == "the depth is constant"


def test_without_probes_there_are_no_rows(tmp_path):
    folder = write_evaluation(tmp_path / "e", Plan(n=10))
    for path in folder.glob("tokens-*"):
        edit_table(path, lambda table: table.drop("probe_stack_depth"))
    assert correlations(folder) == {}


def test_ranks_within_are_those_of_scipy():
    rng = np.random.default_rng(0)
    instance = np.repeat([0, 2, 3], [6, 4, 7])
    values = rng.integers(0, 3, 17).astype(float)
    values[6:10] = 5.0
    ours = standardised_within(values, instance)
    for one in (0, 3):
        ranks = stats.rankdata(values[instance == one])
        expected = (ranks - ranks.mean()) / np.linalg.norm(ranks - ranks.mean())
        np.testing.assert_allclose(ours[instance == one], expected)
    assert np.isnan(ours[6:10]).all()
