"""The tidy table of planted records says what was planted."""

import polars as pl
import pytest
from scipy.stats import spearmanr
from tests.measure_support import Planted, write_evaluation, write_run

from anira.config import UserError
from anira.measure import QUANTITIES, SCHEMA, measure
from anira.measure.construction import cannot_show


def required(knob, number):
    return 1 + (knob + number) % 4


ALIGNED = Planted(own=required, required=required)
CONSTANT = Planted(own=lambda knob, number: 4, required=required, variant="fixed", prompt=4)


def estimate(table, quantity, **labels):
    """Return the one row of a quantity over all knobs, or at the one that it is about."""
    rows = table.filter(quantity=quantity, **labels)
    whole = rows.filter(pl.col("knob").is_null()) if len(rows) > 1 else rows
    return whole.row(0, named=True)


@pytest.fixture(scope="module")
def aligned(tmp_path_factory):
    return measure(write_run(tmp_path_factory.mktemp("aligned"), ALIGNED), draws=100)


def test_the_table_has_its_columns_and_known_quantities(aligned):
    assert aligned.schema == pl.Schema(SCHEMA)
    assert set(aligned["quantity"]) <= set(QUANTITIES)
    assert not aligned.filter(pl.col("value").is_null() & (pl.col("reason") == "")).height


def test_a_depth_that_is_the_oracle_depth_has_no_regret(aligned):
    assert estimate(aligned, "regret")["value"] == pytest.approx(0, abs=1e-9)
    assert "price 0.02" in estimate(aligned, "regret")["reason"]
    row = estimate(aligned, "spearman_oracle")
    assert row["value"] == pytest.approx(1)
    assert row["null_low"] < 0 < row["null_high"] < 1
    assert estimate(aligned, "oracle_depth")["value"] == pytest.approx(2.5)


def test_too_deep_costs_its_price(tmp_path):
    deeper = Planted(own=lambda knob, number: min(4, required(knob, number) + 1), required=required)
    table = measure(write_run(tmp_path, deeper), draws=50)
    assert estimate(table, "regret")["value"] == pytest.approx(0.02 * 3 / 4)
    twice = measure(write_run(tmp_path / "again", deeper), draws=50, price=0.04)
    assert estimate(twice, "regret")["value"] == pytest.approx(0.04 * 3 / 4)


def test_too_shallow_costs_cross_entropy(tmp_path):
    table = measure(write_run(tmp_path, Planted(own=lambda knob, number: 1, required=required)), draws=50)
    costs = [2.02 - (0.05 + 0.02 * depth) for depth in (2, 3, 4)]
    assert estimate(table, "regret")["value"] == pytest.approx(sum(costs) / 4)


def test_regret_beside_the_best_constant_depth(aligned, tmp_path):
    """Every depth from 1 to 4 is required as often: with 2 nats for a wrong answer, constant 4 is the best constant."""
    row = estimate(aligned, "regret_constant")
    assert row["value"] == pytest.approx(0.02 * (3 + 2 + 1) / 4)
    assert row["reason"].startswith("depth 4; price 0.02")
    assert estimate(aligned, "regret_less_constant")["value"] == pytest.approx(-0.02 * (3 + 2 + 1) / 4)
    table = measure(write_run(tmp_path, CONSTANT), draws=50)
    assert estimate(table, "regret_less_constant")["value"] == pytest.approx(0, abs=1e-12)


def test_who_stops_too_early_and_too_late(tmp_path):
    """Exit depth 3 where 1 to 4 are required: a quarter too early, and half too late by 0.02 and 0.04 nats."""
    table = measure(write_run(tmp_path, Planted(own=lambda knob, number: 3, required=required)), draws=50)
    assert estimate(table, "too_early")["value"] == pytest.approx(1 / 4)
    assert estimate(table, "too_late")["value"] == pytest.approx(2 / 4)
    assert set(table.filter(quantity="too_late")["knob"]) == {None, *table.filter(quantity="accuracy")["knob"]}


def test_a_constant_depth_has_no_correlation(tmp_path):
    table = measure(write_run(tmp_path, CONSTANT), draws=50)
    for quantity in ("slope", "spearman_knob", "spearman_oracle"):
        row = estimate(table, quantity)
        assert (row["value"], row["low"]) == (None, None)
        assert "constant by construction: a correlation is undefined, not 0" in row["reason"]
    assert estimate(table, "modal_share")["value"] == 1


def test_slope_and_spearman_over_the_knob(tmp_path):
    table = measure(write_run(tmp_path, Planted(own=lambda knob, number: knob, required=lambda k, i: k)), draws=50)
    assert estimate(table, "slope")["value"] == pytest.approx(1)
    mixed = Planted(own=lambda knob, number: 1 + (knob * number) % 4, required=required, variant="mixed")
    row = estimate(measure(write_run(tmp_path, mixed), draws=50), "spearman_knob")
    pairs = [(knob, 1 + (knob * number) % 4) for knob in mixed.knobs for number in range(mixed.count)]
    assert row["value"] == pytest.approx(spearmanr(*zip(*pairs, strict=True)).statistic)


def test_need_is_what_depth_1_loses_at_the_hardest_knob(tmp_path):
    half = Planted(own=lambda knob, number: 2, required=lambda knob, number: 1 + (knob == 4 and number % 2))
    row = estimate(measure(write_run(tmp_path, half), draws=200), "need")
    assert (row["knob"], row["value"], row["n"]) == (4, 0.5, 40)
    assert 0.3 < row["low"] < 0.5 < row["high"] < 0.7


def test_need_is_held_against_full_depth_where_that_is_better(tmp_path):
    blind = Planted(own=lambda knob, number: 1, required=lambda knob, number: 2)
    assert estimate(measure(write_run(tmp_path, blind), draws=50), "need")["value"] == 1


def test_cost_and_depth_by_kind_of_token(aligned):
    assert estimate(aligned, "iterations")["value"] == pytest.approx((1 + 2.5 + 1) / 3)
    assert estimate(aligned, "flops")["value"] == pytest.approx(100 * (1 + 2.5 + 1) / 3)
    assert estimate(aligned, "depth", subset="answer")["value"] == pytest.approx(2.5)
    assert estimate(aligned, "depth", subset="prompt")["value"] == 1


def test_the_forced_depth_curve(aligned):
    rows = aligned.filter(quantity="forced_accuracy").filter(pl.col("knob").is_null())
    assert dict(rows.select("subset", "value").iter_rows()) == {f"depth-{d}": d / 4 for d in (1, 2, 3, 4)}


def test_settled_tokens_are_those_of_full_depth(tmp_path):
    half = Planted(own=required, required=lambda knob, number: 1 + 4 * (number % 2))  # half are wrong at full depth
    table = measure(write_run(tmp_path, half), draws=50)
    assert estimate(table, "settled")["value"] == pytest.approx(0.5)
    alone = measure(tmp_path / half.run_id / "records" / "final", draws=50)
    assert estimate(alone, "settled")["reason"] == "no evaluation with every token forced to depth 4"


def test_what_was_not_evaluated_is_undefined_with_a_reason(tmp_path):
    table = measure(write_run(tmp_path, ALIGNED, ("", "depth-1", "depth-4")), draws=50)
    for quantity in ("oracle_depth", "spearman_oracle", "regret"):
        row = estimate(table, quantity)
        assert (row["value"], row["reason"]) == (None, "no evaluation with every token forced to depth 2, 3")
    assert estimate(table, "need")["value"] is not None
    alone = measure(tmp_path / ALIGNED.run_id / "records" / "final", draws=50)
    assert estimate(alone, "need")["reason"].startswith("no evaluation with every token forced to depth 1 (anira")
    assert estimate(alone, "virtual_accuracy")["reason"] == "no evaluation with virtual exits"


def test_evaluations_of_other_sizes_are_joined_by_instance(tmp_path):
    run = write_run(tmp_path, ALIGNED, ("",))
    for depth in (1, 2, 3, 4):
        write_evaluation(run / "records" / f"small-{depth}", ALIGNED, f"depth-{depth}", count=12)
    table = measure(run, draws=50)
    assert estimate(table, "spearman_oracle")["value"] == pytest.approx(1)
    assert (estimate(table, "spearman_oracle")["n"], estimate(table, "accuracy")["n"]) == (48, 160)


def test_real_exits_against_virtual_ones(tmp_path):
    worse = Planted(own=lambda knob, number: 2, required=lambda k, i: 2 + (i % 4 == 0), virtual=lambda k, i: 2)
    table = measure(write_run(tmp_path, worse, ("", "virtual")), draws=50)
    assert estimate(table, "virtual_accuracy")["value"] == 1
    assert estimate(table, "real_less_virtual")["value"] == -0.25


def test_another_threshold_has_rows_of_its_own(tmp_path):
    run = write_run(tmp_path, ALIGNED)
    write_evaluation(run / "records" / "cut", ALIGNED, threshold=0.3)
    table = measure(run, draws=50).filter(quantity="accuracy").filter(pl.col("knob").is_null())
    assert table["threshold"].to_list() == [None, 0.3]


def test_paths_may_be_runs_or_evaluations(tmp_path, aligned):
    run = write_run(tmp_path, ALIGNED)
    folders = sorted((run / "records").iterdir())
    assert measure(folders, draws=100).sort(pl.all()).equals(aligned.sort(pl.all()))
    with pytest.raises(UserError, match="name at least one run folder"):
        measure([])


def test_what_a_mechanism_cannot_show():
    assert "budget" in cannot_show("mixture-of-depths", "slope")
    assert "prompt tokens have none" in cannot_show("calm", "depth", "prompt")
    assert cannot_show("anira-o", "slope") == cannot_show("calm", "depth", "answer") == ""
