"""Depth by the state of the parse: a planted law is found, what only counts positions is told from it."""

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
    read_questions,
    write_questions,
)

from anira.config import UserError
from anira.measure.mano.parse_state import CONTRASTS, FORMS, parse_state_rows
from anira.measure.records.loading import load_evaluation
from anira.measure.records.reading import read_records
from anira.measure.tidy import find, make_table

DRAWS = 100
LAW_BY_SUBSET = {f"{kind} r={remaining} {term}": value for (kind, remaining, term), value in LAW.items()}
OWN = ("state_depth", "parse_term", *CONTRASTS, "parse_r2")


def measured(records, *, draws=DRAWS, seed=0):
    return make_table(parse_state_rows(read_records(load_evaluation(records)), draws=draws, seed=seed))


def planted_rows(folder, plan, *, draws=DRAWS):
    return make_table(parse_state_rows(read_questions(folder, plan), draws=draws))


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("planted")
    return folder / "records" / "final", planted_rows(folder, Questions(knobs=(3, 8, 12), n=150))


def questions(records):
    """Return the question tokens of all instances, as polars reads them."""
    return pl.read_parquet(records / "tokens-*.parquet").filter(pl.col("probe_is_operator").is_not_null())


def values(table, quantity):
    return {row["subset"]: row for row in table.filter(quantity=quantity).iter_rows(named=True)}


def test_a_planted_law_is_recovered(planted):
    """Of 16 intervals at 95% some may miss; all values are near, since rounding to whole depths adds noise only."""
    _, found = planted
    held = []
    for quantity in ("expected_parse_term", "parse_term"):
        for subset, row in values(found, quantity).items():
            assert row["value"] == pytest.approx(LAW_BY_SUBSET[subset], abs=0.12)
            held.append(row["low"] <= LAW_BY_SUBSET[subset] <= row["high"])
    assert sum(held) >= 14


def test_the_effects_of_the_law_are_found_at_equal_position_too(planted):
    records, found = planted
    slope, child = values(found, "expected_completed_slope"), values(found, "expected_right_child")
    truth = LAW["operator", 1, "s_t"]
    fitted = find(found, "expected_parse_term", subset="operator r=1 s_t")
    assert slope["plain"]["value"] == pytest.approx(fitted["value"])
    operators = questions(records).filter(pl.col("probe_is_operator") == 1)
    right, left = (operators.filter(probe_remaining_operands=r)["expected_depth"].mean() for r in (1, 2))
    assert child["plain"]["value"] == pytest.approx(right - left, rel=1e-5)
    for form in FORMS:
        assert slope[form]["low"] < truth < slope[form]["high"]
        assert slope[form]["value"] > slope[form]["null_high"]
        assert child[form]["value"] > child[form]["null_high"]


def test_shares_of_variance_are_those_of_statsmodels(planted):
    records, found = planted
    tokens = questions(records)
    depth = tokens["exit_depth"].to_numpy().astype(float)
    place = tokens["position"].to_numpy()
    model, position = design_of(tokens), (place[:, None] == np.unique(place)).astype(float)
    both = np.column_stack([model, position[:, 2:]])  # the root operator is position 1, and branches add up to 1
    by_hand = [OLS(depth, x).fit().rsquared for x in (model, position, both)]
    shares = values(found, "parse_r2")
    assert [shares[name]["value"] for name in ("model", "position", "both")] == pytest.approx(by_hand, rel=1e-6)
    for name, first in (("beyond_position", by_hand[1]), ("beyond_model", by_hand[0])):
        assert shares[name]["value"] == pytest.approx((by_hand[2] - first) / (1 - first), rel=1e-6, abs=1e-9)
    for row in shares.values():
        assert row["low"] - 0.01 <= row["value"] <= row["high"]
        assert row["n"] == len(tokens)
    for name in ("model", "beyond_position"):
        assert shares[name]["value"] > shares[name]["null_high"]


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
    means, spreads = values(found, "state_depth"), values(found, "state_deviation")
    for subset, row in means.items():
        kind, remaining, *completed = subset.split()
        own = tokens.filter(probe_is_operator=kind == "operator", probe_remaining_operands=int(remaining[2:]))
        own = own.filter(probe_completed_size=int(completed[0][2:])) if completed else own
        assert row["n"] == len(own)
        assert row["value"] == pytest.approx(own["exit_depth"].mean())
        if len(own) > 1:
            assert spreads[subset]["value"] == pytest.approx(own["exit_depth"].cast(pl.Float64).std())
    sizes = tokens.filter(probe_is_operator=1, probe_remaining_operands=1)["probe_completed_size"].unique().sort()
    assert [subset.partition(" s=")[2] for subset in means if " s=" in subset] == [f"{size:.0f}" for size in sizes]


def test_a_depth_that_counts_positions_is_found_out(tmp_path):
    found = planted_rows(tmp_path, Questions(level=follow_position, n=150, noise=0.3))
    for prefix in ("", "expected_"):
        for name in CONTRASTS:
            row = values(found, prefix + name)
            assert row["plain"]["low"] > 0  # by the paper's difference alone it would follow the parse
            assert abs(row["matched"]["value"]) < 0.2
        share = values(found, f"{prefix}parse_r2")
        assert share["position"]["value"] > share["model"]["value"] > 0.3
        assert share["beyond_position"]["value"] < 0.05


def test_without_an_effect_most_intervals_hold_zero(tmp_path):
    """Depths have nothing to do with tokens, but those of an instance agree."""
    held = np.zeros(4)
    for draw in range(20):
        plan = Questions(knobs=(6,), n=80, level=follow_nothing, own=0.6, expected=False, draw=draw)
        found = planted_rows(tmp_path / str(draw), plan, draws=2).filter(pl.col("quantity").is_in(CONTRASTS))
        held += ((found["low"] <= 0) & (found["high"] >= 0)).to_numpy()
    assert (held >= 16).all()  # each of the four fails this by chance once in 300 times


def test_shuffled_depths_show_nothing_but_differences_between_instances(tmp_path):
    found = planted_rows(tmp_path, Questions(own=0.0, knobs=(6,), n=150))
    for name in CONTRASTS:
        matched = values(found, name)["matched"]
        assert abs(matched["null_low"] + matched["null_high"]) / 2 < 0.25 * matched["value"]
    assert 0 <= values(found, "parse_r2")["model"]["null_high"] < 0.05


def test_only_questions_that_were_answered_right_count(tmp_path):
    records = write_questions(tmp_path, Questions(accuracy=0.5))
    before = measured(records, draws=2)
    wrong = pl.read_parquet(records / "instances-k005.parquet").filter(~pl.col("correct"))["instance_id"]
    spoiled = pl.when(pl.col("instance_id").is_in(wrong.to_list())).then(1).otherwise(pl.col("exit_depth"))
    edit_table(records / "tokens-k005.parquet", lambda table: table.with_columns(exit_depth=spoiled.cast(pl.Int16)))
    assert measured(records, draws=2).equals(before)


def test_equal_seeds_give_equal_rows(planted):
    records, found = planted
    assert measured(records).equals(found)
    assert not measured(records, seed=1).equals(found)


def test_no_right_answer_leaves_reasons(tmp_path):
    found = planted_rows(tmp_path, Questions(accuracy=0.0, n=12)).filter(pl.col("quantity").is_in(OWN))
    assert set(found.select("value", "reason", "n").iter_rows()) == {(None, "no such tokens", 0)}


def test_a_constant_depth_has_no_direction(tmp_path):
    found = planted_rows(tmp_path, Questions(level=follow_nothing, noise=0.0, own=0.0))
    for name in (*CONTRASTS, "parse_r2"):
        rows = found.filter(quantity=name)
        assert set(rows["reason"]) == {"the depth is constant"}
        assert rows["value"].is_null().all()
        assert rows["null_low"].is_null().all()
    for subset, row in values(found, "parse_term").items():
        alone = subset.split()[:2] not in (["operator", "r=1"], ["operator", "r=2"])  # a mean, no slope beside it
        assert row["reason"] == ("" if alone else "the depth is constant")
        assert row["value"] == (pytest.approx(5) if alone else None)


SHORT = {
    1: {"operator r=1 s_t": "no such tokens", "operator r=2 d_t": "no such tokens"},
    2: {
        "operator r=1 s_t": "s_t is always 0, its part is in the constant",
        "operator r=1 d_t": "d_t is always 1, its part is in the constant",
        "operator r=2 d_t": "d_t is always 1, its part is in the constant",
    },
}


@pytest.mark.parametrize(("size", "reasons"), SHORT.items())
def test_a_state_that_does_not_vary_says_so(tmp_path, size, reasons):
    found = planted_rows(tmp_path, Questions(knobs=(size,), n=40))
    own = values(found, "parse_term")
    for subset, reason in reasons.items():
        assert (own[subset]["value"], own[subset]["reason"]) == (None, reason)
    assert values(found, "completed_slope")["plain"]["value"] is None
    if size == 2:
        assert own["operator r=1 constant"]["value"] == pytest.approx(15.25, abs=0.5)
        matched = values(found, "right_child")["matched"]
        assert matched["reason"] == "r_t does not vary at equal position and d_t"


def test_terms_that_move_together_are_not_told_apart(tmp_path):
    records = write_questions(tmp_path, Questions(knobs=(5,)))
    same = (1 + pl.col("probe_completed_size")).alias("probe_stack_depth")
    edit_table(records / "tokens-k005.parquet", lambda table: table.with_columns(same))
    found = measured(records, draws=2)
    for term in ("constant", "s_t", "d_t"):
        assert values(found, "parse_term")[f"operator r=1 {term}"]["reason"] == "s_t and d_t do not vary apart"
    assert values(found, "completed_slope")["plain"]["reason"] == "s_t does not vary apart from d_t"


def test_a_policy_without_a_distribution_has_exit_depth_only(tmp_path):
    found = planted_rows(tmp_path, Questions(expected=False, n=20))
    assert not found["quantity"].str.starts_with("expected_").any()


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
        measured(records)
