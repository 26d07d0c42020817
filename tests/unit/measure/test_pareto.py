"""Points of accuracy against depth: planted ones are found, and what chance makes is not called better."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.sealing_support import plain, seal_evaluation
from tests.unit.measure.records_support import Plan, write_evaluation

from anira.config import UserError
from anira.measure.pareto import dominators, rule_name, way_rows
from anira.measure.records.loading import load_evaluation
from anira.measure.records.reading import read_records
from anira.measure.statistics.estimates import proportion
from anira.measure.tidy import find, make_table

PLAN = Plan(n=60, knobs=(1, 2), max_depth=9, answers=2)


def write(folder, plan=PLAN, *, more=0, right=None, select="quantile", threshold=0.1):
    """Write an evaluation, `more` iterations deeper at every token than the plan's, right where `right` says."""
    write_evaluation(folder, plan)
    for kind in ("instances", "tokens"):
        for path in folder.glob(f"{kind}-*.parquet"):
            table = pl.read_parquet(path)
            if kind == "tokens":
                deeper = [(pl.col(name) + more).cast(pl.Int16) for name in ("exit_depth", "executed")]
                table = table.with_columns(deeper)
            else:
                table = table.with_columns(
                    pl.col("iterations") + more * pl.col("num_tokens"),
                    select=pl.lit(select),
                    threshold=pl.lit(threshold, dtype=pl.Float64),
                    correct=pl.col("correct") if right is None else pl.Series(right)[: len(table)],
                )
            table.write_parquet(path)
    return seal_evaluation(folder, {**plain(folder / "evaluation.json"), "select": select, "threshold": threshold})


def ways(*folders):
    """The rows of each evaluation of one run."""
    table = make_table(way_rows([read_records(load_evaluation(folder)) for folder in folders], draws=100))
    return table.partition_by("select", "threshold", maintain_order=True)


def test_values_are_those_of_the_records(tmp_path):
    folder = write(tmp_path / "a")
    first, second = ways(folder, write(tmp_path / "b", more=2, select="median", threshold=None))
    instances = pl.read_parquet(folder / "instances-*.parquet")
    answers = pl.read_parquet(folder / "tokens-*.parquet").filter(target_kind="answer")
    accuracy, expected = find(first, "accuracy"), proportion(instances["correct"].sum(), 120)
    assert (accuracy["value"], accuracy["low"], accuracy["n"]) == (expected.value, expected.low, 120)
    executed = find(first, "executed", subset="answer")
    assert executed["value"] == pytest.approx(answers["executed"].mean())
    assert executed["low"] < executed["value"] < executed["high"]
    iterations = find(first, "iterations")
    assert iterations["value"] == pytest.approx(instances["iterations"].sum() / instances["num_tokens"].sum())
    assert find(second, "executed", subset="answer")["value"] == pytest.approx(executed["value"] + 2)
    assert find(second, "iterations")["value"] == pytest.approx(iterations["value"] + 2)
    assert find(first, "unread_share")["value"] == 0
    assert find(first, "above_full")["quantity"] is None, "full depth was not evaluated"


def test_accuracy_is_held_against_that_at_full_depth(tmp_path):
    few, many = np.arange(60) % 2 == 0, np.ones(60, dtype=bool)
    early, full = ways(write(tmp_path / "a", right=few), write(tmp_path / "b", more=1, right=many, threshold=1.0))
    assert find(early, "above_full")["value"] == -0.5
    assert find(full, "above_full")["value"] == 0
    dominated = [
        find(way, "dominated", subset=subset)["value"] for way in (early, full) for subset in ("answer", "all")
    ]
    assert dominated == [0, 0, 0, 0], "more depth for more right answers"


def test_more_depth_for_the_same_answers_is_dominated(tmp_path):
    first, second = ways(write(tmp_path / "a"), write(tmp_path / "b", more=1, threshold=0.5))
    for subset in ("answer", "all"):
        assert find(first, "dominated", subset=subset)["value"] == 0
        row = find(second, "dominated", subset=subset)
        assert (row["value"], row["reason"]) == (1, "by quantile 0.1")


def test_what_is_executed_counts_not_what_is_read_out(tmp_path):
    """The virtual way reads out the very same depths, and pays for two more."""
    folders = [write(tmp_path / "a"), write(tmp_path / "b", replace(PLAN, virtual=2), select="mode", threshold=None)]
    real, mode = ways(*folders)
    assert find(mode, "unread_share")["value"] > 0
    read, spent = (
        [find(way, name, subset="answer")["value"] for way in (real, mode)] for name in ("depth", "executed")
    )
    assert read[0] == read[1]
    assert spent[1] == pytest.approx(spent[0] + 2, abs=0.05)
    assert find(mode, "dominated", subset="answer")["reason"] == "by quantile 0.1"


def test_equal_points_do_not_dominate_each_other():
    right, depth = np.tile(np.arange(40) % 3 > 0, (3, 1)), np.tile(np.arange(40.0), (3, 1))
    assert dominators(right, depth) == [[], [], []]


def test_better_in_both_by_chance_is_not_better():
    """Points without a true difference, six at a time, over 20 draws."""
    rng = np.random.default_rng(0)
    wrong = sum(
        any(dominators(rng.random((6, 200)) < 0.8, rng.integers(1, 5, size=(6, 200)).astype(float))) for _ in range(20)
    )
    assert wrong <= 4, "Holm holds the chance of any false one at 5%"


def test_a_difference_in_accuracy_alone_can_dominate():
    depth = np.ones((2, 100))
    right = np.stack([np.arange(100) < 95, np.arange(100) < 60])
    assert dominators(right, depth) == [[], [0]]


def test_one_way_has_nothing_to_be_compared_with(tmp_path):
    (way,) = ways(write(tmp_path / "a", select="", threshold=None))
    row = find(way, "dominated", subset="answer")
    assert (row["value"], row["reason"]) == (None, "there is no other way to choose depth")
    assert rule_name("", None) == "fixed depth"


def test_other_runs_and_other_instances_are_refused(tmp_path):
    first = write(tmp_path / "a")
    for i, plan in enumerate(
        (replace(PLAN, seed=1), replace(PLAN, step=5), replace(PLAN, n=59), replace(PLAN, draw=1))
    ):
        with pytest.raises(UserError, match="are not of one run, step and set of instances"):
            ways(first, write(tmp_path / str(i), plan))
    with pytest.raises(UserError, match="at least one evaluation"):
        ways()
