"""A run's training from its folder: curves with their intervals, and the verdicts of several seeds."""

import json

import pytest
from tests.sealing_support import edit_json
from tests.unit.measure.dynamics_support import STEPS, Training, metric_lines, write_metrics, write_training

from anira.config import UserError, to_dict
from anira.measure.training.dynamics import dynamics_claims, dynamics_figures

SEEDS = (0, 1, 2)


def figures(folder, **planted):
    return dynamics_figures(write_training(folder, Training(**planted)), draws=50)


def verdicts(root, seeds=SEEDS, **planted):
    made = [figures(root / f"s{seed}", seed=seed, **planted) for seed in seeds]
    return {key: [claim.verdict for claim in found] for key, found in dynamics_claims(made).items()}


def test_planted_truth_is_recovered(tmp_path):
    found = figures(tmp_path / "run")
    assert [(size.knob, size.step) for size in found.order.sizes] == [(1, 200), (2, 500), (3, 900)]
    assert found.phases.weakest.direction == 1
    assert 200 < found.phases.boundary < 600
    assert (found.warm_up, found.experiment) == (0, "mano anira-o, select median, constant \u03b3")
    assert (len(found.curve), len(found.batches)) == (36, 120)


def test_accuracy_has_wilson_intervals_and_depth_those_of_its_records(tmp_path):
    found = figures(tmp_path / "run", kept=(300,))
    points = {(point.step, point.knob): point for point in found.curve}
    with_records, without = points[300, 2], points[400, 2]
    assert with_records.depth.low < with_records.depth.value < with_records.depth.high
    assert without.depth.value == pytest.approx(2.4)
    assert (without.depth.low, without.depth.reason) == (None, "the run has no records of this step")
    assert points[STEPS[-1], 1].depth.low is not None, "the last records are always there"
    assert without.accuracy.low < without.accuracy.value < without.accuracy.high
    assert without.expected_depth == 2.25


def test_other_records_of_the_run_are_left_alone(tmp_path):
    folder = write_training(tmp_path, Training())
    (folder / "records" / "sizes-n1000").mkdir()
    assert dynamics_figures(folder, draws=50).curve


def test_three_seeds_support_both_claims(tmp_path):
    found = verdicts(tmp_path)
    assert [one.word for one in found["easy-to-hard"]] == ["supported"]
    assert [one.word for one in found["two-phases"]] == ["supported"]


def test_a_reversed_order_and_a_rise_without_fall_are_contradicted_or_open(tmp_path):
    found = verdicts(tmp_path, learned={1: 850.0, 2: 450.0, 3: 150.0}, depth=((0, 2.0), (1, 4.0)))
    assert [one.word for one in found["easy-to-hard"]] == ["contradicted"]
    assert found["two-phases"][0].word in ("contradicted", "inconclusive")


def test_a_warm_up_makes_phases_by_itself(tmp_path):
    found = verdicts(tmp_path, warm_up=300)
    assert (found["two-phases"][0].word, found["easy-to-hard"][0].word) == ("not testable", "supported")
    assert found["two-phases"][0].reason == "\u03b3 rises over the first 300 steps, which makes phases by itself"


def test_a_run_that_learned_nothing_cannot_speak(tmp_path):
    found = verdicts(tmp_path, accuracy=0.2)
    assert {one.word for each in found.values() for one in each} == {"not testable"}
    assert found["two-phases"][0].reason == "accuracy is not above the majority baseline"


def test_an_order_that_comes_by_chance_cannot_speak(tmp_path):
    found = verdicts(tmp_path, learned={1: 150.0, 2: 850.0})
    assert found["easy-to-hard"][0].word == "not testable"
    assert found["easy-to-hard"][0].reason == "an order as good comes by chance in 50% of all cases"


def test_only_seeds_of_the_same_experiment_are_judged_together(tmp_path):
    made = [
        figures(tmp_path / "a", seed=1),
        figures(tmp_path / "b", seed=0),
        figures(tmp_path / "c", warm_up=300),
        figures(tmp_path / "d", variant="anira-e"),
    ]
    claims = dynamics_claims(made)["two-phases"]
    assert [claim.seeds for claim in claims] == [(0, 1), (0,), (0,)]


@pytest.mark.parametrize("steps", [(100,), (100, 200)])
def test_a_run_with_few_evaluations_says_so(tmp_path, steps):
    found = figures(tmp_path, steps=steps)
    assert found.order.kendall.reason == f"too few evaluations: {len(steps)}, and 3 are needed"
    assert len(found.curve) == 3 * len(steps)


def test_a_run_without_metrics_has_nothing_to_show(tmp_path):
    folder = write_training(tmp_path, Training())
    (folder / "metrics.jsonl").unlink()
    found = dynamics_figures(folder)
    assert (found.curve, found.batches) == ((), ())
    assert found.order.kendall.reason == "too few evaluations: 0, and 3 are needed"
    assert found.phases.rise.reason == "too few logged batches: 0, and 18 are needed"
    assert "NaN" not in json.dumps(to_dict(found))


def test_the_last_of_two_equal_lines_counts_and_an_unfinished_one_does_not(tmp_path):
    folder = write_training(tmp_path, Training())
    lines = metric_lines(Training())
    again = {**lines[-1], "accuracy": 0.5}
    write_metrics(folder, [*lines, again, {"kind": "eval", "step": 1200, "knob": 1, "n": 200, "accuracy": None}])
    points = {(point.step, point.knob): point for point in dynamics_figures(folder, draws=50).curve}
    assert len(points) == 36
    assert points[again["step"], again["knob"]].accuracy.value == 0.5


def test_metrics_that_are_no_numbers_are_refused_in_one_line(tmp_path):
    folder = write_training(tmp_path, Training())
    write_metrics(folder, [{"kind": "eval", "step": 100, "knob": "x", "n": 2, "accuracy": 1.0, "depth_answer": 1.0}])
    with pytest.raises(UserError, match="knob cannot be 'x'") as error:
        dynamics_figures(folder)
    assert "\n" not in str(error.value)


def test_records_of_another_version_are_refused(tmp_path):
    folder = write_training(tmp_path, Training())
    edit_json(folder / "records" / "final" / "evaluation.json", records_version=0)
    with pytest.raises(UserError, match="has records of version 0"):
        dynamics_figures(folder)
