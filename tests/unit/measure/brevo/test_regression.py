"""The regression of BREVO: planted laws are found again, what is undefined says so, and size is no obstacle."""

import resource
import time

import numpy as np
import polars as pl
import pytest
from tests.unit.measure.brevo_support import Graphs, change, read_graphs, write_graphs

from anira.measure.brevo.regression import OTHER_READING, SHOWN, STACKED, regression_rows
from anira.measure.brevo.tokens import FEATURES, read_answer_tokens
from anira.measure.records.loading import load_evaluation
from anira.measure.records.reading import read_records
from anira.measure.tidy import find, make_table

DRAWS = 100
LAW = {"out_degree_dep": 0.134, "dfs_depth": -0.2, "frontier_ready": 0.05, "newly_enabled": -0.079}
EFFECTS = ("node_effect", "node_effect_placed", "node_effect_within")


def measured(folder, plan=None, edit=None, draws=DRAWS):
    write_graphs(folder, plan or Graphs())
    if edit:
        change(folder, "tokens", edit)
    return make_table(regression_rows(read_answer_tokens(read_records(load_evaluation(folder))), draws=draws))


def value(found, quantity, subset):
    return find(found, quantity, subset=subset)["value"]


def final(found):
    return set(found.filter(quantity="final_delta").drop_nulls("value")["subset"])


def test_planted_coefficients_lie_in_their_intervals(tmp_path):
    found = measured(tmp_path / "r", Graphs(n=300, effects=LAW, bump=0.5))
    for name in SHOWN:
        for quantity in EFFECTS:
            row = find(found, quantity, subset=name)
            width = row["high"] - row["low"]
            assert row["low"] - 0.3 * width < LAW[name] < row["high"] + 0.3 * width  # 12 at a time
        assert row["null_low"] <= 0 <= row["null_high"]
        assert not row["null_low"] <= row["value"] <= row["null_high"]


def test_without_a_law_intervals_hold_zero_at_their_rate(tmp_path):
    held = np.zeros(3)
    for draw in range(10):
        found = measured(tmp_path / str(draw), Graphs(n=40, draw=draw), draws=2)
        rows = [[find(found, quantity, subset=name) for quantity in EFFECTS] for name in SHOWN]
        held += np.sum([[row["low"] < 0 < row["high"] for row in three] for three in rows], axis=0)
    assert (held >= 33).all()  # of 40; by chance once in 2,000 times


def test_both_readings_of_the_frontier_are_fitted(tmp_path):
    found = measured(tmp_path / "r", Graphs(n=200, effects={"frontier_stack": 0.2}))
    assert value(found, "node_effect", f"frontier_stack{OTHER_READING}") == pytest.approx(0.2, abs=0.03)
    assert set(found.filter(quantity="node_effect")["subset"]) == {*SHOWN, *(name + OTHER_READING for name in STACKED)}


def test_the_stages_keep_what_is_there(tmp_path):
    law = {"out_degree_dep": 0.2, "dfs_depth": -0.2, "frontier_ready": 0.2}
    found = measured(tmp_path / "r", Graphs(n=200, effects=law, instance_noise=0.0))
    assert final(found) == {"num_nodes", *law}
    assert find(found, "node_delta", subset="out_degree_with_query")["reason"].endswith("with out_degree_dep")
    assert None in [value(found, "node_delta", name) for name in ("read_mean", "read_max")]
    assert find(found, "final_effect", subset="in_degree")["reason"] == "adds less than 0.5% of R2"
    for name in final(found):
        assert value(found, "node_vif", name) < 5
        assert value(found, "node_delta", name) > 0.005
        assert find(found, "final_delta", subset=name)["low"] > 0
        row = find(found, "final_effect", subset=name)
        width = row["high"] - row["low"]
        assert row["low"] - 0.3 * width < law.get(name, 0.3) < row["high"] + 0.3 * width
        if name != "num_nodes":
            assert value(found, "final_retention", name) == pytest.approx(1, abs=0.05)
    for quantity in ("final_delta_sized", "final_retention"):
        assert find(found, quantity, subset="num_nodes")["reason"] == "a constant for every N says it"
    assert abs(value(found, "node_r2_gain", "improvement")) < 0.01
    assert value(found, "node_r2_gain", "read") < 0.01
    intercept = find(found, "final_effect", subset="intercept")
    assert intercept["low"] < 12 < intercept["high"]
    assert find(found, "node_r2_gain", subset="expected_gain")["low"] > 0  # rounding is noise


def test_sizes_off_the_line_are_found_by_categories(tmp_path):
    found = measured(tmp_path / "r", Graphs(effects={"dfs_depth": -0.2}, bump=0.8))
    gain = find(found, "node_r2_gain", subset="improvement")
    assert gain["low"] > 0.1
    assert value(found, "node_r2", "categorical") == pytest.approx(value(found, "node_r2", "linear") + gain["value"])
    assert value(found, "final_retention", "dfs_depth") == pytest.approx(1, abs=0.1)


def test_depths_of_predecessors_tell_how_deep_an_instance_is(tmp_path):
    """They are the target at other tokens: without them the model explains less, and no law is behind it."""
    found = measured(tmp_path / "r", Graphs(instance_noise=1.0))
    assert find(found, "node_r2_gain", subset="read")["low"] > 0.005
    assert value(found, "node_r2", "categorical") > value(found, "node_r2", "categorical_without_read")
    assert value(found, "node_r2", "linear") > value(found, "node_r2", "linear_without_read")
    assert find(found, "read_correlation")["value"] > 0.9


def test_position_is_told_from_features(tmp_path):
    found = measured(tmp_path / "r", Graphs(n=200, position_effect=0.5, size_effect=0.0))
    r2 = {row["subset"]: row["value"] for row in found.filter(quantity="node_r2").iter_rows(named=True)}
    assert r2["by_both"] >= r2["by_position"] > 0.3
    assert r2["model"] < 0.2 < r2["model_and_position"] <= r2["probes_and_position"] + 1e-9
    assert value(found, "group_r2", "structure") > 0.3  # the remaining nodes count positions
    assert find(found, "state_share", subset="within")["high"] < 0.2


def test_groups_go_where_the_law_is(tmp_path):
    state = measured(tmp_path / "s", Graphs(n=200, effects={"dfs_depth": 0.3, "distance_to_query": 0.2}))
    structure = measured(tmp_path / "h", Graphs(n=200, effects={"out_degree_dep": 0.3}))
    assert find(state, "state_share", subset="within")["low"] > 0.9
    assert find(structure, "state_share", subset="within")["high"] < 0.1
    for found in (state, structure):
        assert (found.filter(quantity="group_r2")["null_high"] < 0.05).all()
    row = find(state, "group_r2", subset="state")
    assert row["low"] > row["null_high"]


@pytest.mark.parametrize(
    ("plan", "reason"),
    [(Graphs(accuracy=0.0), "no instance was answered right"), (Graphs(flat=True), "the expected depth is constant")],
)
def test_nothing_to_fit_says_so(tmp_path, plan, reason):
    found = measured(tmp_path / "r", plan)
    assert found["value"].is_null().all()
    assert found["reason"].str.starts_with(reason).all()
    assert {"node_effect", "node_r2", "state_share"} == set(found["quantity"])


def test_constant_and_dependent_features_leave_no_nan(tmp_path):
    def edit(table):
        return table.with_columns(
            probe_dfs_depth=table["probe_dfs_depth"] * 0 + 2,
            probe_newly_enabled=3 - table["probe_out_degree_dep"],
        )

    found = measured(tmp_path / "r", Graphs(sizes=(5,), n=120, effects={"out_degree_dep": 0.3}), edit)
    whys = {row["subset"]: row["reason"] for row in found.filter(quantity="node_delta").iter_rows(named=True)}
    assert whys["dfs_depth"] == whys["num_nodes"] == "constant"
    assert "r = -1.000 with" in whys["newly_enabled"] + whys["out_degree_dep"]
    effect = find(found, "node_effect", subset="dfs_depth")
    assert (effect["value"], effect["reason"]) == (None, "constant, or determined by the other features")
    assert value(found, "node_effect", "frontier_ready") is not None
    assert not found["value"].is_nan().any()


def test_a_most_probable_depth_that_never_moves_is_undefined(tmp_path):
    def edit(table):
        return table.with_columns(
            exit_probs=pl.Series([[0.1, 0.9, *[0.0] * 38]] * len(table), dtype=pl.List(pl.Float32))
        )

    found = measured(tmp_path / "r", Graphs(effects={"dfs_depth": 0.3}), edit)
    for quantity, subset in (("node_r2", "argmax"), ("node_r2_gain", "expected_gain")):
        assert find(found, quantity, subset=subset)["reason"] == "the most probable depth is constant"
    assert value(found, "node_r2", "categorical") is not None


def test_equal_seeds_give_equal_rows(tmp_path):
    tokens = read_graphs(tmp_path / "r", Graphs(effects=LAW))
    one, again, other = (make_table(regression_rows(tokens, draws=20, seed=seed)) for seed in (0, 0, 1))
    assert one.equals(again)
    assert not one.equals(other)


@pytest.mark.slow
def test_as_many_tokens_as_in_the_paper(tmp_path):
    """In less than 30 s of CPU time and 1 GB, with all 1,000 resamples."""
    plan = Graphs(sizes=tuple(range(3, 31)), n=820, accuracy=1.0, effects=LAW, size_effect=0.06)
    tokens = read_graphs(tmp_path / "r", plan)
    assert len(tokens.instance) > 200_000
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    found = make_table(regression_rows(tokens))
    assert time.process_time() - started < 30
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1_000_000  # KiB
    for name in SHOWN:
        assert value(found, "node_effect", name) == pytest.approx(LAW[name], abs=0.01)
    assert len(found.filter(quantity="node_delta")) == len(FEATURES)
