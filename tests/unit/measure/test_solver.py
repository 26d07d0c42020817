import numpy as np
import polars as pl
import pytest
from scipy import stats
from tests.sealing_support import edit_table
from tests.unit.measure.records_support import Plan, write_evaluation

from anira.measure.records.loading import load_evaluation
from anira.measure.records.reading import read_records
from anira.measure.solver import probe_rows
from anira.measure.statistics.within import standardised_within
from anira.measure.tidy import find, make_table

PREFIX = {"exit_depth": "", "expected_depth": "expected_"}


def correlations(folder, *, draws=300):
    return make_table(probe_rows(read_records(load_evaluation(folder)), rng=np.random.default_rng(0), draws=draws))


def both(table, probe, measure):
    """The rows of a probe: over all tokens, and within instances."""
    return tuple(find(table, f"{PREFIX[measure]}probe_{kind}", subset=probe) for kind in ("pooled", "within"))


def defined_tokens(folder, measure):
    tokens = pl.read_parquet(folder / "tokens-k*.parquet").filter(pl.col("probe_stack_depth").is_not_null())
    return tokens["instance_id"].to_numpy(), tokens["probe_stack_depth"].to_numpy(), tokens[measure].to_numpy()


@pytest.mark.parametrize("measure", ["exit_depth", "expected_depth"])
def test_values_agree_with_scipy(tmp_path, measure):
    folder = write_evaluation(tmp_path / "e", Plan(probe_effect=0.3))
    instance, probe, depth = defined_tokens(folder, measure)
    pooled, inside = both(correlations(folder), "stack_depth", measure)
    assert pooled["n"] == len(probe)
    assert pooled["value"] == pytest.approx(stats.spearmanr(probe, depth).statistic)
    within = [
        stats.spearmanr(probe[own], depth[own]).statistic
        for own in (instance == one for one in np.unique(instance))
        if np.ptp(probe[own]) and np.ptp(depth[own])
    ]
    assert inside["n"] == len(within)
    assert inside["value"] == pytest.approx(np.mean(within))


def test_a_planted_effect_is_found_and_its_absence_is_not(tmp_path):
    effect = correlations(write_evaluation(tmp_path / "effect", Plan(probe_effect=0.3)))
    none = correlations(write_evaluation(tmp_path / "none", Plan(draw=2)))
    for measure in PREFIX:
        pooled, within = both(effect, "stack_depth", measure)
        assert pooled["low"] > 0
        assert within["low"] > 0
        assert within["null_low"] < 0 < within["null_high"] < within["value"]
        pooled, within = both(none, "stack_depth", measure)
        assert pooled["low"] < 0 < pooled["high"]
        assert within["null_low"] < within["value"] < within["null_high"]


def test_differences_between_instances_show_in_the_pooled_null_only(tmp_path):
    """Probe and depth both rise with the knob, and have nothing to do with each other within an instance."""
    folder = write_evaluation(tmp_path / "e", Plan(max_depth=16))
    for knob in (1, 2, 3, 4):
        more = [pl.col(name) + knob for name in ("exit_depth", "executed", "probe_stack_depth")]
        edit_table(folder / f"tokens-k{knob:03d}.parquet", lambda table, more=more: table.with_columns(more))
    pooled, within = both(correlations(folder), "stack_depth", "exit_depth")
    assert pooled["low"] > 0
    assert within["low"] < 0 < within["high"]
    assert pooled["null_low"] > 0, "what differences between instances alone give"
    assert within["null_low"] < 0 < within["null_high"]


def test_probes_defined_at_different_tokens_keep_their_own(tmp_path):
    folder = write_evaluation(tmp_path / "e", Plan(probe_effect=0.5))
    own = pl.when(pl.col("target_kind") == "answer").then("exit_depth").otherwise(None).cast(pl.Float32)
    for path in folder.glob("tokens-*"):
        edit_table(path, lambda table: table.with_columns(probe_own_depth=own))
    table = correlations(folder)
    pooled, within = both(table, "own_depth", "exit_depth")
    assert pooled["n"] == 400
    assert pooled["value"] == pytest.approx(1)
    assert within["value"] is None, "one answer token per instance: nothing varies within it"
    assert within["reason"] == "in every instance the probe or the depth is constant"
    assert within["null_low"] is None
    assert both(table, "stack_depth", "exit_depth")[1]["null_low"] < 0


def test_constant_depth_is_undefined(tmp_path):
    table = correlations(write_evaluation(tmp_path / "e", Plan(max_depth=1, expected=False)))
    assert set(table["quantity"]) == {"probe_pooled", "probe_within"}, "no expected depth, so no row for it"
    pooled, within = both(table, "stack_depth", "exit_depth")
    assert (pooled["value"], within["value"], pooled["null_low"]) == (None, None, None)
    assert pooled["reason"] == "the depth is constant"


def test_without_probes_there_are_no_rows(tmp_path):
    folder = write_evaluation(tmp_path / "e", Plan(n=10))
    for path in folder.glob("tokens-*"):
        edit_table(path, lambda table: table.drop("probe_stack_depth"))
    assert correlations(folder).is_empty()


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
