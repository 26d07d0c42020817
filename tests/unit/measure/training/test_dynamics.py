"""A run's training from its folder to rows of the tidy table: curves with their intervals, order and phases."""

import pytest
from tests.sealing_support import edit_json
from tests.unit.measure.dynamics_support import STEPS, Training, metric_lines, write_metrics, write_training

from anira.config import UserError
from anira.measure.tidy import find
from anira.measure.training.dynamics import training_table


def made(folder, **planted):
    return training_table([write_training(folder, Training(**planted))], draws=50)


def curve(table, name="accuracy"):
    """Rows of one quantity by step and knob."""
    rows = table.filter(quantity=name).drop_nulls("knob").iter_rows(named=True)
    return {(row["step"], row["knob"]): row for row in rows}


def test_planted_truth_is_recovered(tmp_path):
    found = made(tmp_path / "run")
    assert [find(found, "learned_step", knob=knob)["value"] for knob in (1, 2, 3)] == [200, 500, 900]
    assert find(found, "depth_rise")["low"] > 0 and find(found, "depth_fall")["low"] > 0
    assert 200 < find(found, "peak_step")["value"] < 600
    assert find(found, "gamma_warmup")["value"] == 0
    assert len(curve(found)) == 36
    assert set(found["variant"]) == {"anira-o"}


def test_a_warm_up_is_another_variant(tmp_path):
    found = made(tmp_path / "run", warm_up=300)
    assert set(found["variant"]) == {"anira-o, \u03b3 warmed up"}
    assert find(found, "gamma_warmup")["value"] == 300


def test_accuracy_has_wilson_intervals_and_depth_those_of_its_records(tmp_path):
    found = made(tmp_path / "run", kept=(300,))
    depth, accuracy = curve(found, "depth"), curve(found)[400, 2]
    assert depth[300, 2]["low"] < depth[300, 2]["value"] < depth[300, 2]["high"]
    assert depth[400, 2]["value"] == pytest.approx(2.4)
    assert (depth[400, 2]["low"], depth[400, 2]["reason"]) == (None, "the run has no records of this step")
    assert depth[STEPS[-1], 1]["low"] is not None, "the last records are always there"
    assert accuracy["low"] < accuracy["value"] < accuracy["high"]
    assert curve(found, "expected_depth")[400, 2]["value"] == 2.25


def test_other_records_of_the_run_are_left_alone(tmp_path):
    folder = write_training(tmp_path, Training())
    (folder / "records" / "sizes-n1000").mkdir()
    assert curve(training_table([folder], draws=50))


@pytest.mark.parametrize("steps", [(100,), (100, 200)])
def test_a_run_with_few_evaluations_says_so(tmp_path, steps):
    found = made(tmp_path, steps=steps)
    assert find(found, "kendall_order")["reason"] == f"too few evaluations: {len(steps)}, and 3 are needed"
    assert len(curve(found)) == 3 * len(steps)


def test_a_run_without_metrics_has_nothing_to_show(tmp_path):
    folder = write_training(tmp_path, Training())
    (folder / "metrics.jsonl").unlink()
    found = training_table([folder])
    assert curve(found) == {}
    assert find(found, "kendall_order")["reason"] == "too few evaluations: 0, and 3 are needed"
    assert find(found, "depth_rise")["reason"] == "too few logged batches: 0, and 18 are needed"


def test_the_last_of_two_equal_lines_counts_and_an_unfinished_one_does_not(tmp_path):
    folder = write_training(tmp_path, Training())
    lines = metric_lines(Training())
    again = {**lines[-1], "accuracy": 0.5}
    write_metrics(folder, [*lines, again, {"kind": "eval", "step": 1200, "knob": 1, "n": 200, "accuracy": None}])
    points = curve(training_table([folder], draws=50))
    assert len(points) == 36
    assert points[again["step"], again["knob"]]["value"] == 0.5


def test_metrics_that_are_no_numbers_are_refused_in_one_line(tmp_path):
    folder = write_training(tmp_path, Training())
    write_metrics(folder, [{"kind": "eval", "step": 100, "knob": "x", "n": 2, "accuracy": 1.0, "depth_answer": 1.0}])
    with pytest.raises(UserError, match="knob cannot be 'x'") as error:
        training_table([folder])
    assert "\n" not in str(error.value)


def test_records_of_another_version_are_refused(tmp_path):
    folder = write_training(tmp_path, Training())
    edit_json(folder / "records" / "final" / "evaluation.json", records_version=0)
    with pytest.raises(UserError, match="has records of version 0"):
        training_table([folder])
