"""Accuracy at forced depths, and whether depth is needed."""

import pytest
from tests.training_support import train_tiny

from anira.evaluation import EvaluationConfig
from anira.measure.accuracy import Accuracy
from anira.measure.forced import forced_accuracy, need
from anira.measure.records.folders import choose_evaluation
from anira.measure.records.loading import load_evaluation
from anira.measure.statistics.estimates import proportion
from anira.measure.summary import summarize
from anira.training.evaluating import evaluate_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = train_tiny(tmp_path_factory.mktemp("runs"))
    for depth in (3, 1):
        wanted = EvaluationConfig(count=7, override=f"depth-{depth}")
        evaluate_run(path, wanted, path / "records" / f"any-{depth}")
    evaluate_run(path, EvaluationConfig(count=7, override="permuted"), path / "records" / "permuted")
    evaluate_run(path, EvaluationConfig(count=7, override="depth-2"), path / "records" / "before", step=6)
    return path


def test_forced_depths_of_the_same_step_are_found_whatever_they_are_called(run):
    found = forced_accuracy(run, 8)
    assert list(found) == [1, 3]
    for depth, rows in found.items():
        table = load_evaluation(run / "records" / f"any-{depth}").instances.collect()
        for row in rows:
            assert row.exact.value == table.filter(knob=row.knob)["correct"].mean()
    assert list(forced_accuracy(run, 6)) == [2]


def test_forced_depths_are_not_taken_for_the_result_of_the_run(run):
    assert choose_evaluation(run).name == "final"
    assert summarize(choose_evaluation(run)).labels.override == ""


def rows(*values, seen=3):
    return [
        Accuracy(
            knob=i + 1,
            split="seen" if i < seen else "extrapolation",
            instances=100,
            exact=proportion(round(100 * value), 100),
            lenient=proportion(0, 100),
            majority=0.1,
            above_majority=True,
            seen_in_training=None,
        )
        for i, value in enumerate(values)
    ]


def test_need_is_what_depth_1_loses_at_the_hardest_seen_knob():
    own, forced = rows(1, 1, 0.9, 0.5), {1: rows(1, 0.8, 0.4, 0.5), 2: rows(1, 1, 0.8, 0.5)}
    assert need(own, forced) == (3, pytest.approx(0.5))
    assert need(own, {**forced, 4: rows(1, 1, 1.0)}) == (3, pytest.approx(0.6))
    assert need(own, {2: rows(1, 1, 1)}) is None
    assert need(rows(1, 1, seen=0), forced) is None
    assert need(own, {1: rows(1)}) is None
