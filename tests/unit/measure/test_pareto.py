"""Points of accuracy against depth: planted ones are found, and what chance makes is not called better."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.sealing_support import plain, seal_evaluation
from tests.unit.measure.records_support import Plan, write_evaluation

from anira.config import UserError
from anira.measure.pareto import dominators, frontier, rule_name
from anira.measure.statistics.estimates import proportion

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


def test_names():
    assert [rule_name(*rule) for rule in (("mean", None), ("quantile", 0.95), ("", None))] == [
        "mean",
        "quantile 0.95",
        "fixed depth",
    ]


def test_values_are_those_of_the_records(tmp_path):
    folders = [write(tmp_path / "a"), write(tmp_path / "b", more=2, select="median", threshold=None)]
    found = frontier(folders, draws=200)
    instances = pl.read_parquet(folders[0] / "instances-*.parquet")
    answers = pl.read_parquet(folders[0] / "tokens-*.parquet").filter(target_kind="answer")
    first, second = found.points
    assert (first.name, second.name, found.instances, found.knobs, found.tests) == (
        "quantile 0.1",
        "median",
        120,
        (1, 2),
        2,
    )
    assert first.accuracy == proportion(instances["correct"].sum(), 120)
    assert first.answer_depth.value == pytest.approx(answers["executed"].mean())
    assert first.depth.value == pytest.approx(instances["iterations"].sum() / instances["num_tokens"].sum())
    assert first.answer_depth.low < first.answer_depth.value < first.answer_depth.high
    assert second.answer_depth.value == pytest.approx(first.answer_depth.value + 2)
    assert second.depth.value == pytest.approx(first.depth.value + 2)
    assert not (first.virtual or second.virtual)


def test_more_depth_for_the_same_answers_is_dominated(tmp_path):
    found = frontier([write(tmp_path / "a"), write(tmp_path / "b", more=1, threshold=0.5)], draws=50)
    assert [point.beaten_on_answers for point in found.points] == ["", "quantile 0.1"]
    assert [point.beaten_on_all for point in found.points] == ["", "quantile 0.1"]


def test_more_depth_for_more_right_answers_is_not(tmp_path):
    few, many = np.arange(60) % 2 == 0, np.ones(60, dtype=bool)
    folders = [write(tmp_path / "a", right=few), write(tmp_path / "b", more=1, right=many, threshold=0.5)]
    assert [point.beaten_on_answers for point in frontier(folders, draws=50).points] == ["", ""]


def test_what_is_executed_counts_not_what_is_read_out(tmp_path):
    """The virtual point reads out the very same depths, and pays for two more."""
    folders = [write(tmp_path / "a"), write(tmp_path / "b", replace(PLAN, virtual=2), select="mode", threshold=None)]
    plain, mode = frontier(folders, draws=50).points
    assert (plain.virtual, mode.virtual) == (False, True)
    assert mode.read_depth == plain.read_depth
    assert mode.answer_depth.value == pytest.approx(plain.answer_depth.value + 2, abs=0.05)
    assert mode.beaten_on_answers == "quantile 0.1"


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


def test_one_point_has_nothing_to_be_compared_with(tmp_path):
    (point,) = frontier([write(tmp_path / "a", select="", threshold=None)], draws=50).points
    assert (point.name, point.beaten_on_answers, point.beaten_on_all) == ("fixed depth", "", "")


def test_other_runs_and_other_instances_are_refused(tmp_path):
    first = write(tmp_path / "a")
    for i, plan in enumerate(
        (replace(PLAN, seed=1), replace(PLAN, step=5), replace(PLAN, n=59), replace(PLAN, draw=1))
    ):
        with pytest.raises(UserError, match="are not of one run, step and set of instances"):
            frontier([first, write(tmp_path / str(i), plan)], draws=50)
    with pytest.raises(UserError, match="at least one evaluation"):
        frontier([])
