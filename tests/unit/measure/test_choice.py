"""Accuracy, depth and cost by knob, against the same computed the long way."""

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.proportion import proportion_confint
from tests.unit.measure.records_support import Plan, write_evaluation

from anira.measure.choice import accuracy_rows, baseline_rows, cost_rows, depth_rows
from anira.measure.records.loading import load_evaluation
from anira.measure.records.reading import read_records
from anira.measure.tidy import find, make_table


def records(folder, plan):
    return read_records(load_evaluation(write_evaluation(folder, plan)))


def depths(one, draws=200):
    return make_table(depth_rows(one, rng=np.random.default_rng(0), draws=draws))


def test_depths_are_means_over_tokens(tmp_path):
    one = records(tmp_path / "e", Plan(answers=4, slope=0.5))
    table = depths(one)
    tokens = pl.read_parquet(tmp_path / "e" / "tokens-k*.parquet")
    correct = pl.read_parquet(tmp_path / "e" / "instances-k*.parquet").filter("correct")["instance_id"]
    for knob in (1, 2, 3, 4, None):
        own = tokens if knob is None else tokens.filter(pl.col("knob") == knob)
        answers = own.filter(pl.col("target_kind") == "answer")
        right = answers.filter(pl.col("instance_id").is_in(correct.implode()))
        expected = {
            ("depth", "answer"): answers["exit_depth"].mean(),
            ("depth", "right"): right["exit_depth"].mean(),
            ("depth", "prompt"): own.filter(pl.col("target_kind") == "prompt")["exit_depth"].mean(),
            ("expected_depth", "answer"): answers["expected_depth"].mean(),
        }
        for (name, subset), value in expected.items():
            row = find(table, name, knob=knob, subset=subset)
            assert row["value"] == pytest.approx(value)
            assert row["low"] < row["value"] < row["high"]


def test_without_exit_probs_there_is_no_expected_depth(tmp_path):
    table = depths(records(tmp_path / "e", Plan(expected=False)), draws=50).filter(quantity="expected_depth")
    assert set(table["value"]) == {None}
    assert set(table["reason"]) == {"no such tokens"}


def test_right_answers_where_there_are_none_or_almost_none(tmp_path):
    one = records(tmp_path / "e", Plan(accuracy=0))
    one.instances.replace_column(
        one.instances.get_column_index("correct"), (one.instances["instance_id"] == 0).alias("correct")
    )
    table = depths(one)
    first, second = (find(table, "depth", knob=knob, subset="right") for knob in (1, 2))
    assert first["value"] is not None
    assert first["low"] is None, "a third of the resamples miss the one instance"
    assert second["value"] is None


def test_accuracy_has_wilson_intervals_and_stands_beside_the_commonest_answer(tmp_path):
    one = records(tmp_path / "e", Plan(knobs=(1, 2, 8), seen=(1, 2), n=50))
    table = make_table([*accuracy_rows(one), *baseline_rows(one)])
    own = one.instances
    for knob in (1, 2, 8):
        part = own.filter(pl.col("knob") == knob)
        row = find(table, "accuracy", knob=knob)
        right = int(part["correct"].sum())
        assert (row["value"], row["n"]) == (right / 50, 50)
        assert (row["low"], row["high"]) == pytest.approx(proportion_confint(right, 50, method="wilson"))
        commonest = part["answer"].value_counts()["count"].max()
        assert find(table, "majority", knob=knob)["value"] == commonest / 50
    seen, whole = (find(table, "majority", split=split)["value"] for split in ("seen", "all"))
    by_knob = [find(table, "majority", knob=knob)["value"] for knob in (1, 2, 8)]
    assert seen == pytest.approx(np.mean(by_knob[:2])), "the baseline knows the knob"
    assert whole == pytest.approx(np.mean(by_knob))


def test_over_all_knobs_means_those_of_training_unless_others_are_asked_for(tmp_path):
    one = records(tmp_path / "e", Plan(knobs=(1, 2, 8), seen=(1, 2), n=50))
    table = make_table(accuracy_rows(one))
    assert find(table, "accuracy")["n"] == 100
    assert find(table, "accuracy", split="all")["n"] == 150
    alone = make_table(accuracy_rows(records(tmp_path / "s", Plan(n=20))))
    assert set(alone["split"]) == {"seen"}


def test_costs_are_ratios_of_sums(tmp_path):
    one = records(tmp_path / "e", Plan(knobs=(1, 4), answers=3))
    table = make_table(cost_rows(one, rng=np.random.default_rng(0), draws=200))
    for knob in (1, 4, None):
        own = one.instances if knob is None else one.instances.filter(pl.col("knob") == knob)
        sums = own.select(pl.col(pl.Int64, pl.Int32).sum()).row(0, named=True)
        for name, above, below in (
            ("iterations", "iterations", "num_tokens"),
            ("decisions", "decisions", "num_tokens"),
            ("iterations_share", "iterations", "full_iterations"),
            ("flops_share", "flops", "full_flops"),
            ("kv_share", "kv_slots", "full_kv_slots"),
        ):
            assert find(table, name, knob=knob)["value"] == pytest.approx(sums[above] / sums[below])
        assert find(table, "unread_share", knob=knob)["value"] == 0


def test_iterations_that_are_not_read_out_are_counted_apart(tmp_path):
    one = records(tmp_path / "e", Plan(virtual=1, max_depth=20))
    table = make_table(cost_rows(one, rng=np.random.default_rng(0), draws=50))
    assert find(table, "unread_share")["value"] == pytest.approx(1 / find(table, "iterations")["value"])


def test_full_depth_costs_all_of_it(tmp_path):
    one = records(tmp_path / "e", Plan(max_depth=1))
    table = make_table(cost_rows(one, rng=np.random.default_rng(0), draws=50))
    assert {find(table, name)["value"] for name in ("iterations_share", "flops_share", "kv_share")} == {1.0}
