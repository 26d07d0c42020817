"""Answers that are no tokens of the row: what records say about them by place in the word, and what was seen."""

import numpy as np
import pytest
import torch
from tests.unit.evaluation.evaluation_support import SUBJECT, evaluated, forward, model_for, read
from tests.unit.evaluation.test_tables import LABELS

from anira.config import UserError
from anira.evaluation import EvaluationConfig, Overlap, evaluate
from anira.evaluation.port import depth_model
from anira.evaluation.predict import Settings, predict
from anira.evaluation.tables import instance_table, token_table
from anira.evaluation.written import check_one_answer
from anira.measure import measure
from anira.measure.tidy import find
from anira.tasks.words import Words, WordsConfig

TASK = Words(WordsConfig(min_letters=6, max_letters=6))


@pytest.fixture(scope="module")
def model():
    return model_for(TASK)


@torch.no_grad()
def test_a_position_is_judged_by_its_label(model):
    rows = TASK.rows(seed=0, stream="train", start=0, count=3)
    prediction = predict(model, rows, Settings())
    tokens = token_table(TASK, rows, rows, prediction, LABELS, first=0)
    instances = instance_table(TASK, depth_model(model), rows, rows, prediction, LABELS, 0, None)
    for i in range(3):
        mine, products = tokens.filter(instance_id=i), rows.answer(i)
        assert mine["input_id"].to_list() == rows.ids(i)
        assert mine["target_kind"].to_list() == ["prompt", *["answer"] * 6, "none"]
        assert mine["target_id"].to_list() == [rows.ids(i)[1], *products, None]
        said = mine["predicted_id"].to_list()[1:7]
        assert mine["correct"].to_list() == [None, *(a == b for a, b in zip(said, products, strict=True)), None]
        assert mine["probe_product"].to_list()[1:7] == [product - 4 for product in products]
        logits = forward(model, rows.ids(i)).logits[0].log_softmax(-1)
        expected = [-logits[t, target].item() for t, target in enumerate([rows.ids(i)[1], *products])]
        assert mine["ce"].to_list()[:-1] == pytest.approx(expected, rel=1e-5)
        assert instances["predicted"][i] == TASK.vocab.decode(said)
        assert instances["correct"][i] == (said == products)


def test_the_knob_is_the_place_in_a_longer_word(model, tmp_path):
    """Accuracy and depth at knob t are those of letter t, because nothing behind it is read."""
    _, tokens = evaluated(model, TASK, tmp_path / "e", knobs=(4,), count=10)
    rows = TASK.rows(seed=0, stream="eval", start=0, count=10, knob=4)
    last = tokens.filter(target_kind="answer")
    assert last["position"].to_list() == last["probe_t"].to_list() == [4] * 10
    assert last["target_id"].to_list() == [rows.answer(i)[0] for i in range(10)]
    for i in range(10):
        longer = forward(model, [*rows.ids(i)[:5], 4, 9, 2])
        mine = tokens.filter(instance_id=i)
        assert mine["exit_depth"].to_list()[:5] == longer.exit_depth[0, :5].tolist()
        assert mine["predicted_id"][4] == longer.logits[0, 4].argmax()


def test_analysis_has_a_row_for_every_place(model, tmp_path):
    instances, tokens = evaluated(model, TASK, tmp_path / "e", count=20)
    found = measure(tmp_path / "e", draws=50)
    places = found.filter(quantity="accuracy")["knob"].drop_nulls().to_list()
    assert places == [1, 2, 3, 4, 5, 6]
    assert set(found["split"]) == {"seen"}
    for t in places:
        answers = tokens.filter(target_kind="answer", knob=t)
        accuracy, depth = find(found, "accuracy", knob=t), find(found, "depth", knob=t, subset="answer")
        assert accuracy["value"] == pytest.approx(answers["correct"].mean())
        assert accuracy["value"] == pytest.approx(instances.filter(knob=t)["correct"].mean())
        assert depth["value"] == pytest.approx(answers["exit_depth"].mean())
    assert set(found.filter(quantity="probe_pooled")["subset"]) >= {"t", "subgroup_size"}


def test_writing_an_answer_and_reading_along_leave_the_same_records(model, tmp_path):
    along, free = (evaluated(model, TASK, tmp_path / decode, decode=decode) for decode in ("parallel", "generated"))
    assert along[0].drop("decode").equals(free[0].drop("decode"))
    rounded = ("expected_depth", "exit_probs", "margin")
    truth = ["ce"]  # of what the model wrote, not of what is right
    assert along[1].drop(*rounded, *truth).equals(free[1].drop(*rounded, *truth))
    assert free[1]["probe_t"].null_count() < len(free[1])


def test_products_of_all_prefixes_are_not_written_one_after_the_other():
    rows = TASK.rows(seed=0, stream="train", start=0, count=5)
    assert [rows.is_dense(i) for i in range(5)] == [True] * 5
    with pytest.raises(UserError, match="--generate needs one answer a row: task 'words' has several here"):
        check_one_answer(TASK, rows)
    check_one_answer(TASK, TASK.rows(seed=0, stream="eval", start=0, count=5, knob=6))
    final = Words(WordsConfig(form="final")).rows(seed=0, stream="train", start=0, count=5)
    check_one_answer(TASK, final)
    assert not any(final.is_dense(i) for i in range(5))


@pytest.mark.parametrize("form", ["dense", "final"])
def test_what_training_has_seen_is_found_by_brute_force(tmp_path, form):
    task = Words(WordsConfig(min_letters=2, max_letters=6, form=form))
    overlap = Overlap(task, seed=3, rows=5000)  # more than a block
    config = EvaluationConfig(knobs=(1, 2, 4, 5, 6), count=40)
    evaluate(model_for(task, "fixed"), task, config, SUBJECT, tmp_path / "e", overlap=overlap)
    train = task.rows(seed=3, stream="train", start=0, count=5000)
    words = [task.instance(train, i).question.removesuffix(" <ans>").split() for i in range(len(train))]
    if form == "dense":  # a longer word asks for the products of its prefixes too
        words = [word[:t] for word in words for t in range(1, len(word) + 1)]
    seen = {" ".join(word) for word in words}
    instances, _ = read(tmp_path / "e")
    questions = [question.removesuffix(" <ans>") for question in instances["question"]]
    assert instances["seen_in_training"].to_list() == [question in seen for question in questions]
    assert instances["seen_in_training"].n_unique() == 2
    assert overlap.seen(train) == [True] * len(train)


def test_targets_are_labels_or_else_tokens():
    rows = TASK.read("1 2 4")
    assert rows.targets.tolist() == [[1, 5, 6, 8, 4]]
    final = Words(WordsConfig(form="final")).read("1 2 4")
    np.testing.assert_array_equal(final.targets, final.input_ids)
