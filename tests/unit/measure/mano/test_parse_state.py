"""Depth by the state of the parse: a planted law is found, what only counts positions is told from it."""

import json

import numpy as np
import polars as pl
import pytest
from statsmodels.regression.linear_model import OLS
from tests.sealing_support import edit_table
from tests.unit.measure.parse_state_support import (
    LAW,
    Questions,
    follow_nothing,
    follow_position,
    write_questions,
)

from anira.config import UserError, to_dict
from anira.measure.mano.parse_state import parse_state_figures

DRAWS = 100
SHARES = ("model", "position", "both", "beyond_position", "beyond_model")


def figures(folder, plan=None):
    return parse_state_figures(write_questions(folder, plan or Questions()), draws=DRAWS)


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("planted")
    return folder / "records" / "final", figures(folder, Questions(knobs=(3, 8, 12), n=150))


def questions(records):
    """Return the question tokens of all instances, as polars reads them."""
    return pl.read_parquet(records / "tokens-*.parquet").filter(pl.col("probe_is_operator").is_not_null())


def coefficients(found, measure):
    return {(row.kind, row.remaining, row.term): row.estimate for row in found.coefficients if row.measure == measure}


def test_a_planted_law_is_recovered(planted):
    """Of 16 intervals at 95% some may miss; all values are near, since rounding to whole depths adds noise only."""
    _, found = planted
    held = []
    for measure in ("expected_depth", "exit_depth"):
        for key, estimate in coefficients(found, measure).items():
            assert estimate.value == pytest.approx(LAW[key], abs=0.12)
            held.append(estimate.low <= LAW[key] <= estimate.high)
    assert sum(held) >= 14


def test_the_effects_of_the_law_are_found_at_equal_position_too(planted):
    records, found = planted
    slope = found.contrast("expected_depth", "completed")
    assert slope.plain.value == pytest.approx(coefficients(found, "expected_depth")["operator", 1, "s_t"].value)
    assert slope.plain.low < LAW["operator", 1, "s_t"] < slope.plain.high
    assert slope.matched.low < LAW["operator", 1, "s_t"] < slope.matched.high
    child = found.contrast("expected_depth", "right_child")
    operators = questions(records).filter(pl.col("probe_is_operator") == 1)
    right, left = (operators.filter(probe_remaining_operands=r)["expected_depth"].mean() for r in (1, 2))
    assert child.plain.value == pytest.approx(right - left, rel=1e-5)
    for row in (slope, child):
        assert row.plain.value > row.null_plain.high
        assert row.matched.value > row.null_matched.high


def test_shares_of_variance_are_those_of_statsmodels(planted):
    records, found = planted
    tokens = questions(records)
    depth = tokens["exit_depth"].to_numpy().astype(float)
    place = tokens["position"].to_numpy()
    model, position = design_of(tokens), (place[:, None] == np.unique(place)).astype(float)
    both = np.column_stack([model, position[:, 2:]])  # the root operator is position 1, and branches add up to 1
    by_hand = [OLS(depth, x).fit().rsquared for x in (model, position, both)]
    row = next(one for one in found.explained if one.measure == "exit_depth")
    assert [row.model.value, row.position.value, row.both.value] == pytest.approx(by_hand, rel=1e-6)
    assert row.beyond_position.value == pytest.approx((by_hand[2] - by_hand[1]) / (1 - by_hand[1]), rel=1e-6)
    assert row.beyond_model.value == pytest.approx((by_hand[2] - by_hand[0]) / (1 - by_hand[0]), rel=1e-6, abs=1e-9)
    for name in SHARES:
        one = getattr(row, name)
        assert one.low - 0.01 <= one.value <= one.high
    assert row.model.value > row.null_model.high
    assert row.beyond_position.value > row.null_beyond_position.high
    assert row.tokens == found.tokens == len(tokens)


def design_of(tokens):
    operator, r, s, d = (
        tokens[f"probe_{name}"].to_numpy().astype(float)
        for name in ("is_operator", "remaining_operands", "completed_size", "stack_depth")
    )
    branches = [(operator == kind) & (r == left) for kind, left in ((0, 1), (0, 2), (1, 0), (1, 1), (1, 2))]
    columns = [*branches, branches[3] * s, branches[3] * d, branches[4] * d]
    return np.stack([np.asarray(column, dtype=float) for column in columns], axis=1)


def test_states_are_means_and_spreads_of_their_tokens(planted):
    records, found = planted
    tokens = questions(records)
    kinds = {"operator": 1, "operand": 0}
    for row in found.states:
        own = tokens.filter(probe_is_operator=kinds[row.kind], probe_remaining_operands=row.remaining)
        own = own if row.completed is None else own.filter(probe_completed_size=row.completed)
        assert (row.tokens, row.instances) == (len(own), own["instance_id"].n_unique())
        assert row.mean.value == pytest.approx(own[row.measure].cast(pl.Float64).mean())
        if row.tokens > 1:
            assert row.deviation == pytest.approx(own[row.measure].cast(pl.Float64).std())
    sizes = tokens.filter(probe_is_operator=1, probe_remaining_operands=1)["probe_completed_size"].unique().sort()
    exits = [row for row in found.states if row.measure == "exit_depth"]
    assert [row.completed for row in exits if row.completed is not None] == sizes.to_list()
    assert [row.remaining for row in exits if row.completed is None] == [0, 2, 1, 2, 1]
    assert (found.largest_completed, found.largest_stack) == (sizes[-1], tokens["probe_stack_depth"].max())


def test_a_depth_that_counts_positions_is_found_out(tmp_path):
    found = figures(tmp_path, Questions(level=follow_position, n=150, noise=0.3))
    for measure in found.measures:
        for name in ("right_child", "completed"):
            row = found.contrast(measure, name)
            assert row.plain.low > 0  # by the paper's figure alone it would follow the parse
            assert abs(row.matched.value) < 0.2
        share = next(one for one in found.explained if one.measure == measure)
        assert share.position.value > share.model.value > 0.3
        assert share.beyond_position.value < 0.05


def test_without_an_effect_most_intervals_hold_zero(tmp_path):
    """Depths have nothing to do with tokens, but those of an instance agree."""
    held = np.zeros(4)
    for draw in range(20):
        plan = Questions(knobs=(6,), n=80, level=follow_nothing, own=0.6, expected=False, draw=draw)
        found = parse_state_figures(write_questions(tmp_path / str(draw), plan), draws=2)
        rows = [found.contrast("exit_depth", name) for name in ("right_child", "completed")]
        held += [one.low <= 0 <= one.high for row in rows for one in (row.plain, row.matched)]
    assert (held >= 16).all()  # each of the four fails this by chance once in 300 times


def test_shuffled_depths_show_nothing_but_differences_between_instances(tmp_path):
    found = figures(tmp_path, Questions(own=0.0, knobs=(6,), n=150))
    for row in found.contrasts:
        assert abs(row.null_matched.mean) < 0.25 * row.matched.value
    for row in found.explained:
        assert 0 <= row.null_model.mean < 0.05


def test_only_questions_that_were_answered_right_count(tmp_path):
    records = write_questions(tmp_path, Questions(accuracy=0.5))
    before = parse_state_figures(records, draws=2)
    wrong = pl.read_parquet(records / "instances-k005.parquet").filter(~pl.col("correct"))["instance_id"]
    spoiled = pl.when(pl.col("instance_id").is_in(wrong.to_list())).then(1).otherwise(pl.col("exit_depth"))
    edit_table(records / "tokens-k005.parquet", lambda table: table.with_columns(exit_depth=spoiled.cast(pl.Int16)))
    assert parse_state_figures(records, draws=2) == before
    right = pl.read_parquet(records / "instances-*.parquet")["correct"].sum()
    assert before.questions == right
    assert before.accuracy.exact.value == pytest.approx(right / 180)


def test_equal_seeds_give_equal_figures(planted):
    records, found = planted
    assert parse_state_figures(records, draws=DRAWS) == found
    assert parse_state_figures(records, draws=DRAWS, seed=1) != found
    assert "NaN" not in json.dumps(to_dict(found))


def test_no_right_answer_leaves_reasons(tmp_path):
    found = figures(tmp_path, Questions(accuracy=0.0, n=12))
    assert (found.questions, found.tokens, found.largest_stack, found.largest_completed) == (0, 0, None, None)
    estimates = [
        *(row.mean for row in found.states),
        *(row.estimate for row in found.coefficients),
        *(one for row in found.contrasts for one in (row.plain, row.matched)),
        *(getattr(row, name) for row in found.explained for name in SHARES),
    ]
    assert {(one.value, one.reason) for one in estimates} == {(None, "no such tokens")}


def test_a_constant_depth_has_no_direction(tmp_path):
    found = figures(tmp_path, Questions(level=follow_nothing, noise=0.0, own=0.0))
    for row in found.contrasts:
        assert row.plain.reason == row.matched.reason == "the depth is constant"
        assert row.null_plain is row.null_matched is None
    for row in found.explained:
        assert (row.model.value, row.model.reason, row.null_model) == (None, "the depth is constant", None)
    for key, estimate in coefficients(found, "exit_depth").items():
        alone = key[:2] not in {("operator", 1), ("operator", 2)}  # a mean, and no slope beside it
        assert estimate.reason == ("" if alone else "the depth is constant")
        assert estimate.value == (pytest.approx(5) if alone else None)


SHORT = {
    1: {("operator", 1, "s_t"): "no such tokens", ("operator", 2, "d_t"): "no such tokens"},
    2: {
        ("operator", 1, "s_t"): "s_t is always 0, its part is in the constant",
        ("operator", 1, "d_t"): "d_t is always 1, its part is in the constant",
        ("operator", 2, "d_t"): "d_t is always 1, its part is in the constant",
    },
}


@pytest.mark.parametrize(("size", "reasons"), SHORT.items())
def test_a_state_that_does_not_vary_says_so(tmp_path, size, reasons):
    found = figures(tmp_path, Questions(knobs=(size,), n=40))
    own = coefficients(found, "exit_depth")
    for key, reason in reasons.items():
        assert (own[key].value, own[key].reason) == (None, reason)
    assert found.contrast("exit_depth", "completed").plain.value is None
    if size == 2:
        assert own["operator", 1, "constant"].value == pytest.approx(15.25, abs=0.5)
        matched = found.contrast("exit_depth", "right_child").matched
        assert matched.reason == "r_t does not vary at equal position and d_t"


def test_terms_that_move_together_are_not_told_apart(tmp_path):
    records = write_questions(tmp_path, Questions(knobs=(5,)))
    same = (1 + pl.col("probe_completed_size")).alias("probe_stack_depth")
    edit_table(records / "tokens-k005.parquet", lambda table: table.with_columns(same))
    found = parse_state_figures(records, draws=2)
    for term in ("constant", "s_t", "d_t"):
        assert coefficients(found, "exit_depth")["operator", 1, term].reason == "s_t and d_t do not vary apart"
    assert found.contrast("exit_depth", "completed").plain.reason == "s_t does not vary apart from d_t"


def test_a_policy_without_a_distribution_has_exit_depth_only(tmp_path):
    found = figures(tmp_path, Questions(expected=False, n=20))
    assert found.measures == ["exit_depth"]
    assert {row.measure for row in (*found.states, *found.coefficients, *found.contrasts)} == {"exit_depth"}


@pytest.mark.parametrize(
    ("kind", "change", "complaint"),
    [
        ("tokens", lambda table: table.drop("probe_completed_size"), "has no column probe_completed_size"),
        ("instances", lambda table: table.with_columns(task=pl.lit("brevo")), "of task 'brevo', not of mano"),
    ],
)
def test_other_records_are_refused(tmp_path, kind, change, complaint):
    records = write_questions(tmp_path, Questions(n=12))
    for path in records.glob(f"{kind}-*.parquet"):
        edit_table(path, change)
    with pytest.raises(UserError, match=complaint):
        parse_state_figures(records)
