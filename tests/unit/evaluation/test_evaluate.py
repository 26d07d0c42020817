import json

import numpy as np
import polars as pl
import pytest
import torch
from tests.training_support import assert_same_records
from tests.unit.evaluation.evaluation_support import SUBJECT, TASKS, evaluated, forward, model_for, read

from anira.config import UserError
from anira.evaluation import EvaluationConfig, Overlap, evaluate, parse_knobs

MANO, BREVO = TASKS["mano"], TASKS["brevo"]


def test_instances_are_the_rows_of_the_evaluation_stream(tmp_path):
    instances, _ = evaluated(model_for(BREVO), BREVO, tmp_path / "e", knobs=(4, 3), count=6)
    for place, knob in enumerate((4, 3)):
        rows = BREVO.rows(seed=0, stream="eval", start=0, count=6, knob=knob)
        for i in range(6):
            record = instances.row(6 * place + i, named=True)
            instance = BREVO.instance(rows, i)
            assert (record["question"], record["answer"]) == (instance.question, instance.answer)
            assert (record["knob"], record["split"], record["task"]) == (knob, "seen", "brevo")
            assert record["meta_reachable_nodes"] == instance.meta["reachable_nodes"]
            assert (record["variant"], record["seed"], record["subtask"]) == ("anira-o", 3, "")


@pytest.mark.parametrize("policy", ["anira-e", "anira-o", "fixed", "gates"])
@pytest.mark.parametrize("name", TASKS)
def test_a_record_says_what_the_model_says_of_the_row_by_itself(tmp_path, name, policy):
    task = TASKS[name]
    model = model_for(task, policy, seed=1)
    knob = task.knob.seen[1]
    instances, tokens = evaluated(model, task, tmp_path / "e", knobs=(knob,), count=8, batch_size=3)
    rows = task.rows(seed=0, stream="eval", start=0, count=8, knob=knob)
    for i in range(8):
        out = forward(model, rows.ids(i))
        mine = tokens.filter(pl.col("instance_id") == i)
        said = out.logits[0].argmax(-1).tolist()
        assert mine["input_id"].to_list() == rows.ids(i)
        assert mine["input_text"].to_list() == task.vocab.decode(rows.ids(i)).split()
        assert mine["predicted_id"].to_list() == said
        assert mine["exit_depth"].to_list() == out.exit_depth[0].tolist()
        assert mine["executed"].to_list() == out.executed[0].tolist()
        if out.exit_log_probs is not None:
            np.testing.assert_allclose(np.array(mine["exit_probs"].to_list()), out.exit_log_probs[0].exp(), atol=1e-6)
            np.testing.assert_allclose(mine["expected_depth"], out.expected_depth[0], atol=1e-5)
        answer = [said[position - 1] for position in rows.answer_positions(i)]
        grade = task.grade(rows, i, answer)
        record = instances.row(i, named=True)
        assert (record["correct"], record["lenient_correct"]) == (grade.exact, grade.lenient)
        assert record["predicted"] == task.vocab.decode(answer)


def test_figures_are_those_of_the_records(tmp_path):
    config = EvaluationConfig(knobs=(2, 3), count=9)
    figures = evaluate(model_for(MANO), MANO, config, SUBJECT, tmp_path / "e")
    instances, tokens = read(tmp_path / "e")
    assert [figure["knob"] for figure in figures] == [2, 3]
    for figure in figures:
        here = pl.col("knob") == figure["knob"]
        answers = tokens.filter(here, pl.col("target_kind") == "answer")
        assert figure["n"] == 9
        assert figure["accuracy"] == instances.filter(here)["correct"].mean()
        assert figure["depth_answer"] == answers["exit_depth"].mean()
        assert figure["expected_depth_answer"] == pytest.approx(answers["expected_depth"].mean())
        prompts = tokens.filter(here, pl.col("target_kind") == "prompt")
        assert figure["depth_prompt"] == prompts["exit_depth"].mean()


def test_a_policy_without_a_distribution_has_no_expected_depth(tmp_path):
    config = EvaluationConfig(knobs=(2,), count=4)
    (figure,) = evaluate(model_for(MANO, "fixed"), MANO, config, SUBJECT, tmp_path / "e")
    assert "expected_depth_answer" not in figure


class Stopped(Exception):
    pass


@pytest.mark.parametrize("done", [1, 2])
def test_a_stopped_evaluation_goes_on_where_it_was(tmp_path, done):
    model = model_for(MANO)
    config = EvaluationConfig(knobs=MANO.knob.seen, count=5)

    def stop(instances):
        if instances == 5 * done:
            raise Stopped

    with pytest.raises(Stopped):
        evaluate(model, MANO, config, SUBJECT, tmp_path / "e", progress=stop)
    assert json.loads((tmp_path / "e" / "evaluation.json").read_text())["complete"] is False
    kept = {file: file.stat().st_mtime_ns for file in (tmp_path / "e").glob("*.parquet")}
    assert len(kept) == 2 * done
    told = []
    figures = evaluate(model, MANO, config, SUBJECT, tmp_path / "e", progress=told.append)
    assert told == [5, 10, 15, 20]
    assert {file: file.stat().st_mtime_ns for file in kept} == kept
    assert figures == evaluate(model, MANO, config, SUBJECT, tmp_path / "whole")
    assert_same_records(tmp_path / "whole", tmp_path / "e")


@pytest.mark.parametrize(
    "change", [{"count": 6}, {"knobs": (1,)}, {"select": "mean"}, {"override": "permuted"}, {"decode": "generated"}]
)
def test_another_evaluation_in_its_folder_is_refused(tmp_path, change):
    model, asked = model_for(MANO), {"knobs": (1, 2), "count": 5}
    evaluate(model, MANO, EvaluationConfig(**asked), SUBJECT, tmp_path / "e")
    with pytest.raises(UserError, match="holds another evaluation"):
        evaluate(model, MANO, EvaluationConfig(**{**asked, **change}), SUBJECT, tmp_path / "e")


def test_a_knob_out_of_range_is_refused_before_any_work(tmp_path):
    with pytest.raises(UserError, match="out of range"):
        evaluate(model_for(BREVO), BREVO, EvaluationConfig(knobs=(3, 6)), SUBJECT, tmp_path / "e")
    assert not (tmp_path / "e").exists()


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"select": "modal"}, "did you mean 'mode'"),
        ({"select": "quantile"}, "threshold"),
        ({"select": "mode", "threshold": 0.5}, "threshold"),
        ({"threshold": 0.0}, "must lie in"),
        ({"threshold": 1.5}, "must lie in"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused_before_any_work(tmp_path, asked, expected):
    with pytest.raises(UserError, match=expected):
        evaluate(model_for(MANO), MANO, EvaluationConfig(knobs=(1,), **asked), SUBJECT, tmp_path / "e")
    assert not (tmp_path / "e").exists()


@pytest.mark.parametrize("asked", [{"select": "mode"}, {"threshold": 0.5}])
def test_a_policy_that_selects_nothing_takes_no_rule(tmp_path, asked):
    with pytest.raises(UserError, match="policy 'fixed' has no rule to choose depth by"):
        evaluate(model_for(MANO, "fixed"), MANO, EvaluationConfig(knobs=(1,), **asked), SUBJECT, tmp_path / "e")
    assert not (tmp_path / "e").exists()


def test_the_model_is_left_as_it_was(tmp_path):
    model = model_for(MANO).train()
    evaluate(model, MANO, EvaluationConfig(knobs=(1,), count=2), SUBJECT, tmp_path / "e")
    assert model.training
    assert all(parameter.grad is None for parameter in model.parameters())
    assert torch.is_grad_enabled()


def test_what_training_has_seen_is_found_by_brute_force(tmp_path):
    overlap = Overlap(MANO, seed=3, rows=5000)  # more than a block
    config = EvaluationConfig(knobs=MANO.knob.seen, count=40)
    evaluate(model_for(MANO, "fixed"), MANO, config, SUBJECT, tmp_path / "e", overlap=overlap)
    train = MANO.rows(seed=3, stream="train", start=0, count=5000)
    seen = {MANO.instance(train, i).question for i in range(len(train))}
    instances, _ = read(tmp_path / "e")
    assert instances["seen_in_training"].to_list() == [question in seen for question in instances["question"]]
    assert instances["seen_in_training"].n_unique() == 2
    assert Overlap(MANO, seed=3, rows=0).seen(train) == [False] * len(train)


def test_without_the_training_rows_nothing_is_claimed(tmp_path):
    instances, _ = evaluated(model_for(MANO), MANO, tmp_path / "e", count=2)
    assert instances["seen_in_training"].null_count() == len(instances)


@pytest.mark.parametrize(
    ("text", "knobs"),
    [("3:5", (3, 4, 5)), ("10,2,50", (10, 2, 50)), ("1:2, 7", (1, 2, 7)), ("4", (4,)), (None, (1, 2, 3, 4))],
)
def test_knobs_are_ranges_and_lists(text, knobs):
    assert parse_knobs(text, MANO) == knobs


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "3:16 or 10,20,50"),
        ("3:", "3:16 or 10,20,50"),
        (":4", "3:16 or 10,20,50"),
        ("1:2:3", "3:16 or 10,20,50"),
        ("a", "3:16 or 10,20,50"),
        ("-1", "3:16 or 10,20,50"),
        ("1.5", "3:16 or 10,20,50"),
        ("\u00b2", "3:16 or 10,20,50"),
        ("3,,4", "3:16 or 10,20,50"),
        ("5:3", "at least one"),
        ("3,3", "distinct"),
        ("1:3,2", "distinct"),
        ("0", "out of range"),
        ("1:201", "out of range"),
        ("1:99999999999999", "knobs are written as"),
    ],
)
def test_other_texts_are_refused(text, expected):
    with pytest.raises(UserError, match=expected):
        parse_knobs(text, MANO)
