"""The regression of BREVO: planted laws are found again, what is undefined says so, and size is no obstacle."""

import json

import numpy as np
import polars as pl
import pytest
from tests.unit.measure.brevo_support import Graphs, change, write_graphs

from anira.config import to_dict
from anira.measure.brevo.regression import SHOWN, brevo_regression
from anira.measure.brevo.tokens import FEATURES, read_answer_tokens
from anira.measure.records.loading import load_evaluation

DRAWS = 100
LAW = {"out_degree_dep": 0.134, "dfs_depth": -0.2, "frontier_ready": 0.05, "newly_enabled": -0.079}


def figures(folder, plan=None, edit=None):
    write_graphs(folder, plan or Graphs())
    if edit:
        change(folder, "tokens", edit)
    return brevo_regression(read_answer_tokens(load_evaluation(folder)), draws=DRAWS)


def stage(found, name):
    return next(row for row in found.stages if row.feature == name)


def test_planted_coefficients_lie_in_their_intervals(tmp_path):
    found = figures(tmp_path / "r", Graphs(n=300, effects=LAW, bump=0.5))
    assert [row.feature for row in found.main] == list(SHOWN)
    for row in found.main:
        for estimate in (row.coefficient, row.given_position, row.within):
            width = estimate.high - estimate.low
            assert estimate.low - 0.3 * width < LAW[row.feature] < estimate.high + 0.3 * width  # 12 at a time
        assert row.null_within.covers_zero
        assert not row.null_within.low <= row.within.value <= row.null_within.high
        assert row.p_value < 0.05
    assert found.obstacle == ""


def test_without_a_law_intervals_hold_zero_at_their_rate(tmp_path):
    held = np.zeros(3)
    for draw in range(10):
        found = figures(tmp_path / str(draw), Graphs(n=40, draw=draw))
        for row in found.main:
            held += [one.low < 0 < one.high for one in (row.coefficient, row.given_position, row.within)]
    assert (held >= 33).all()  # of 40; by chance once in 2,000 times


def test_the_stages_keep_what_is_there(tmp_path):
    law = {"out_degree_dep": 0.2, "dfs_depth": -0.2, "frontier_ready": 0.2}
    found = figures(tmp_path / "r", Graphs(n=200, effects=law, instance_noise=0.0))
    assert {row.feature for row in found.final} == {"num_nodes", *law}
    assert stage(found, "out_degree_with_query").dropped.endswith("with out_degree_dep")
    assert stage(found, "read_mean").dropped or stage(found, "read_max").dropped
    for row in found.final:
        assert row.vif < 5
        assert row.delta.value > 0.005
        assert row.delta_linear.low > 0
        effect = law.get(row.feature, 0.3)
        width = row.coefficient.high - row.coefficient.low
        assert row.coefficient.low - 0.3 * width < effect < row.coefficient.high + 0.3 * width
        if row.feature != "num_nodes":
            assert row.retention.value == pytest.approx(1, abs=0.05)
    size = stage(found, "num_nodes")
    assert (size.delta_categorical, size.retention) == (None, None)
    assert abs(found.fits.improvement.value) < 0.01
    assert found.fits.read.value < 0.01
    assert found.intercept.low < 12 < found.intercept.high
    assert found.fits.expected_gain.low > 0  # rounding is noise


def test_sizes_off_the_line_are_found_by_categories(tmp_path):
    found = figures(tmp_path / "r", Graphs(effects={"dfs_depth": -0.2}, bump=0.8))
    assert found.fits.improvement.low > 0.1
    sums = found.fits.linear.value + found.fits.improvement.value
    assert found.fits.categorical.value == pytest.approx(sums)
    assert stage(found, "dfs_depth").retention.value == pytest.approx(1, abs=0.1)


def test_depths_of_predecessors_tell_how_deep_an_instance_is(tmp_path):
    found = figures(tmp_path / "r", Graphs(instance_noise=1.0))
    assert found.fits.read.low > 0.005
    assert found.read_correlation > 0.9


def test_position_is_told_from_features(tmp_path):
    found = figures(tmp_path / "r", Graphs(n=200, position_effect=0.5, size_effect=0.0))
    assert found.position.by_position > 0.3
    assert found.position.by_both >= found.position.by_position
    assert found.position.model < 0.2 < found.position.model_and_position
    assert found.groups.structure.value > 0.3  # the remaining nodes count positions
    assert found.groups.share.high < 0.2


def test_groups_go_where_the_law_is(tmp_path):
    state = figures(tmp_path / "s", Graphs(n=200, effects={"dfs_depth": 0.3, "distance_to_query": 0.2}))
    structure = figures(tmp_path / "h", Graphs(n=200, effects={"out_degree_dep": 0.3}))
    assert state.groups.share.low > 0.9
    assert structure.groups.share.high < 0.1
    for found in (state, structure):
        assert found.groups.null_state.high < 0.05
        assert found.groups.null_structure.high < 0.05
        assert found.fits.read.value < 0.03
    assert state.groups.state.low > state.groups.null_state.high


@pytest.mark.parametrize(
    ("plan", "reason"),
    [(Graphs(accuracy=0.0), "no instance was answered right"), (Graphs(flat=True), "the expected depth is constant")],
)
def test_nothing_to_fit_says_so(tmp_path, plan, reason):
    found = figures(tmp_path / "r", plan)
    assert found.undefined.startswith(reason)
    assert (found.main, found.stages, found.fits, found.groups, found.position) == ((), (), None, None, None)
    assert "NaN" not in json.dumps(to_dict(found))


def test_constant_and_dependent_features_leave_no_nan(tmp_path):
    def edit(table):
        return table.with_columns(
            probe_dfs_depth=table["probe_dfs_depth"] * 0 + 2,
            probe_newly_enabled=3 - table["probe_out_degree_dep"],
        )

    found = figures(tmp_path / "r", Graphs(sizes=(5,), n=120, effects={"out_degree_dep": 0.3}), edit)
    assert stage(found, "dfs_depth").dropped == stage(found, "num_nodes").dropped == "constant"
    assert "r = -1.000 with" in stage(found, "newly_enabled").dropped + stage(found, "out_degree_dep").dropped
    main = {row.feature: row for row in found.main}
    assert main["dfs_depth"].coefficient.reason == "constant, or determined by the other features"
    assert main["frontier_ready"].coefficient.value is not None
    assert "NaN" not in json.dumps(to_dict(found))


def test_a_most_probable_depth_that_never_moves_is_undefined(tmp_path):
    def edit(table):
        return table.with_columns(
            exit_probs=pl.Series([[0.1, 0.9, *[0.0] * 38]] * len(table), dtype=pl.List(pl.Float32))
        )

    found = figures(tmp_path / "r", Graphs(effects={"dfs_depth": 0.3}), edit)
    assert found.fits.argmax.reason == found.fits.expected_gain.reason == "the most probable depth is constant"
    assert found.fits.categorical.value is not None


def test_equal_seeds_give_equal_figures(tmp_path):
    folder = write_graphs(tmp_path / "r", Graphs(effects=LAW))
    tokens = read_answer_tokens(load_evaluation(folder))
    assert brevo_regression(tokens, draws=20) == brevo_regression(tokens, draws=20)
    assert brevo_regression(tokens, draws=20) != brevo_regression(tokens, draws=20, seed=1)


@pytest.mark.slow
def test_as_many_tokens_as_in_the_paper(tmp_path):
    plan = Graphs(sizes=tuple(range(3, 31)), n=820, accuracy=1.0, effects=LAW, size_effect=0.06)
    found = figures(tmp_path / "r", plan)
    assert found.tokens > 200_000
    for row in found.main:
        assert row.coefficient.value == pytest.approx(LAW[row.feature], abs=0.01)
    assert len(found.stages) == len(FEATURES)
