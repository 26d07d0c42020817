"""What a page shows: rows of the eval stream, typed questions, and what the models say to them."""

from dataclasses import replace

import numpy as np
import pytest
from tests.explore_support import QUESTION, mano_explorer, mano_run
from tests.training_support import train_tiny

from anira.config import UserError
from anira.evaluation.answer import answer
from anira.explore import Choice, Explorer, RowAddress, load_runs
from anira.explore.requests import LONGEST_QUESTION
from anira.explore.runs import BusyError, check_length
from anira.tasks import Rows


@pytest.fixture(scope="module")
def explorer(tmp_path_factory):
    return mano_explorer(tmp_path_factory.mktemp("runs"))


def row(number, knob=3):
    return RowAddress(subtask="", knob=knob, row=number)


def test_picked_rows_are_those_that_evaluations_read(explorer):
    task = explorer.task
    rows = task.rows(seed=0, stream="eval", start=0, count=8, knob=3)
    picked = explorer.pick(row(7))
    assert picked["question"] == task.instance(rows, 7).question
    assert picked["answer"] == task.instance(rows, 7).answer
    assert (picked["knob"], picked["row"]) == (3, {"subtask": "", "knob": 3, "row": 7})
    assert picked["picture"]["boxes"]


CHOICES = [Choice(), Choice(select="mean"), Choice(select="quantile", threshold=0.7)]


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_a_view_has_what_step_by_step_decoding_says(explorer, choice):
    view = explorer.read(0, QUESTION, choice)
    run = explorer.runs[0]
    said = answer(run.run.model, run.task, QUESTION, select=choice.select, threshold=choice.threshold)
    assert [token["text"] for token in view["tokens"]] == said["tokens"]
    assert [token["depth"] for token in view["tokens"]] == said["depths"]
    assert len(set(said["depths"])) > 1, "depths must differ for this to say anything"
    assert (view["predicted"], view["answer"]) == (said["answer"], said["true_answer"])
    assert (view["right"], view["lenient"]) == (said["correct"], said["lenient_correct"])
    assert view["mean_depth"] == pytest.approx(said["mean_depth"], abs=0.005)


def test_the_last_token_has_exit_probabilities_and_a_prediction_after_each_iteration(explorer):
    last = explorer.read(0, QUESTION, Choice())["tokens"][-1]
    assert last["text"] == "<ans>"
    assert sum(last["probs"]) == pytest.approx(1, abs=0.003)
    assert len(last["after"]) == last["depth"]
    (text, prob), *others = last["after"][-1]
    assert text == last["predicts"]
    assert 1 >= prob >= others[0][1] >= others[1][1]
    assert "predicts" not in explorer.read(0, QUESTION, Choice())["tokens"][1]


def test_a_lower_threshold_lets_tokens_stop_earlier(explorer):
    low, high = (explorer.read(0, QUESTION, Choice(select="quantile", threshold=t))["mean_depth"] for t in (0.05, 1.0))
    assert low < high


@pytest.mark.parametrize("run", [0, 1])
def test_a_depth_can_be_forced(explorer, run):
    assert {token["depth"] for token in explorer.read(run, QUESTION, Choice(depth=2))["tokens"]} == {2}


def test_controls_are_the_rules_that_the_policy_declares(explorer):
    online, fixed = explorer.facts["runs"]
    assert [rule["name"] for rule in online["rules"]] == ["mode", "median", "mean", "quantile"]
    assert online["default_rule"] == "median"
    assert [rule["range"] for rule in online["rules"] if "range" in rule] == ["(0, 1]"]
    assert fixed["rules"] == []
    assert [online["label"], fixed["label"]] == ["anira-o", "fixed"]


def test_a_sentence_that_is_all_answer_is_read_and_not_written(tmp_path):
    explorer = Explorer(load_runs([train_tiny(tmp_path, "lano-anira-o-smoke", steps=1)]))
    picked = explorer.pick(explorer.first_row)
    view = explorer.read(0, picked["question"], Choice())
    assert "each answer is predicted from the true tokens before it" in view["notes"]
    assert [token["text"] for token in view["tokens"]][1:] == picked["question"].split()[: len(view["tokens"]) - 1]
    begun = explorer.read(0, " ".join(picked["question"].split()[:5]), Choice())
    assert "predicts" not in begun["tokens"][2]


def long_row(length):
    ids = np.ones((1, length), dtype=np.int64)
    return Rows(ids, ids, np.array([length]), np.array([1]))


MISTAKES = {
    "a question that cannot be read": (lambda one: one.problem("+ 1"), "ends"),
    "an unknown token": (lambda one: one.problem("+ 1 <img>"), "unknown token '<img>'"),
    "too many characters": (lambda one: one.problem("1 " * LONGEST_QUESTION), "at most 20000 characters"),
    "too many characters for a run": (lambda one: one.read(0, "1 " * LONGEST_QUESTION, Choice()), "at most 20000"),
    "more than the task has": (lambda one: one.problem("+ " * 1500 + "1 " * 1501), "L = 1500 is out of range"),
    "too many tokens": (lambda one: check_length(long_row(2049)), "have 2049 tokens: at most 2048 are read here"),
    "no such run": (lambda one: one.read(2, QUESTION, Choice()), "there are 2 runs here"),
    "no such run before the first": (lambda one: one.read(-1, QUESTION, Choice()), "there are 2 runs here"),
    "no such subtask": (lambda one: one.pick(RowAddress(subtask="sort", knob=3, row=0)), "has no subtask 'sort'"),
    "a knob below the task's": (lambda one: one.pick(row(0, knob=0)), "out of range"),
    "a knob far beyond training": (lambda one: one.pick(row(0, knob=33)), "rows go up to L = "),
    "no such rule": (lambda one: one.read(0, QUESTION, Choice(select="best")), "has no rule 'best'"),
    "a rule of another policy": (lambda one: one.read(1, QUESTION, Choice(select="mode")), "has no rule to choose"),
    "a threshold beyond its range": (
        lambda one: one.read(0, QUESTION, Choice(select="quantile", threshold=1.5)),
        "must lie in (0, 1]",
    ),
    "more depth than there is": (lambda one: one.read(0, QUESTION, Choice(depth=4)), "has at most depth 3"),
    "a choice missing": (lambda one: one.state(one.problem(QUESTION), [Choice()]), "2 runs here, and 1 choices"),
}


@pytest.mark.parametrize(("act", "expected"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_one_line(explorer, act, expected):
    with pytest.raises(UserError) as raised:
        act(explorer)
    assert expected in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_model_answers_one_question_at_a_time(explorer):
    run = replace(explorer.runs[0], patience=0.0)
    with run.lock, pytest.raises(BusyError, match="anira-o is busy with another question"):
        run.read(QUESTION, Choice())
    assert run.read(QUESTION, Choice())["tokens"]


def test_runs_must_be_of_one_task_and_at_most_three(tmp_path):
    mano, words = mano_run(tmp_path), train_tiny(tmp_path, "words-fixed-smoke", steps=1)
    with pytest.raises(UserError, match="explore runs of one task together"):
        load_runs([mano, words])
    with pytest.raises(UserError, match="one to 3 runs are explored together, not 4"):
        load_runs([mano] * 4)


def test_runs_over_other_groups_say_their_own_correct_answer(tmp_path):
    places = [train_tiny(tmp_path, f"{task}-fixed-smoke", steps=1) for task in ("words", "words-z6")]
    explorer = Explorer(load_runs(places))
    views = [explorer.read(i, "1 2 4", Choice()) for i in range(2)]
    assert views[0]["answer"] != views[1]["answer"]
    said = f"its task has other options: the correct answer here is {views[1]['answer']}"
    assert said in views[1]["notes"] and not any("other options" in note for note in views[0]["notes"])


def test_a_run_whose_files_were_changed_is_refused(tmp_path):
    run = mano_run(tmp_path)
    (weights,) = run.glob("checkpoints/step-2/model.safetensors")
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    with pytest.raises(UserError, match=r"model\.safetensors"):
        load_runs([run])
