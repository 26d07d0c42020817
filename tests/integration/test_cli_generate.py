"""`anira generate`, as somebody types it."""

import json
import re

import pytest
import torch
from tests.training_support import begin, tiny_config, train_tiny

from anira.cli.generate import _shade, _text
from anira.training.run import load_run

QUESTIONS = {
    "mano": "+ - 1 3 * 2 4",
    "brevo": "n02 n05 n01 n05 n05 n03 n04 n03 n01 n04 <query> n03",
    "depo": "v03 v02 v01 v03 v02 v05 v05 v01 <query-02> v03",
    "words": "1 2 5 4 0 3 3",
}


@pytest.fixture(scope="module", params=QUESTIONS)
def run(request, tmp_path_factory):
    """A run of each task, of large initial weights and next to no training, so that depths differ."""
    seed = 4 if request.param == "words" else 1
    model = {"initializer_range": 0.7, "policy": {"name": "anira-o"}}  # a decider that starts at zero has one depth
    settings = {"steps": 4, "learning_rate": 1e-6, "model": model, "seed": seed}
    return train_tiny(tmp_path_factory.mktemp(request.param), f"{request.param}-anira-o-smoke", **settings)


@pytest.fixture
def question(run):
    return QUESTIONS[run.parent.name.partition("-")[0]]


@pytest.mark.parametrize("words", [[], ["--select", "mean"], ["--threshold", "0.7"], ["--step", "2"]], ids=str)
def test_depths_are_those_of_the_parallel_graph(anira, run, question, words):
    result = anira("generate", run, question, "--json", *words)
    assert (result.status, result.err) == (0, "")
    said = json.loads(result.out)
    config, model, step = load_run(run, 2 if "--step" in words else None)
    task = config.make_task()
    rows = task.read(question)
    ids = [task.vocab.id(token) for token in said["tokens"]]
    options = {"--select": {"select": "mean"}, "--threshold": {"threshold": 0.7}}.get("".join(words[:1]), {})
    with torch.no_grad():
        out = model(torch.tensor([ids]), **options)
    assert said["depths"] == out.exit_depth[0].tolist()
    assert len(set(said["depths"])) > 1, "depths must differ for this to say anything"
    assert said["step"] == step
    assert said["mean_depth"] == pytest.approx(out.executed.float().mean().item())
    start = rows.answer_positions(0)[0]
    assert ids[:start] == rows.ids(0)[:start]
    assert said["true_answer"] == task.vocab.decode(rows.answer(0))
    written = out.logits[0, start - 1 :].argmax(-1).tolist()  # greedy: what each position predicts comes next
    assert said["answer"] == task.vocab.decode(written)
    assert ids[start:] == written[:-1]
    assert said["correct"] == (said["answer"] == said["true_answer"])


def test_the_page_shows_every_token_over_its_depth(anira, run, question):
    result = anira("generate", run, question)
    assert (result.status, result.err) == (0, "")
    said = json.loads(anira("generate", run, question, "--json").out)
    lines = result.out.splitlines()
    tokens = " ".join(line.removeprefix("token") for line in lines if line.startswith("token")).split()
    depths = " ".join(line.removeprefix("depth") for line in lines if line.startswith("depth")).split()
    assert tokens == said["tokens"]
    assert list(map(int, depths)) == said["depths"]
    assert max(map(len, lines)) <= 100
    verdict = "right" if said["correct"] else f"wrong, it is {said['true_answer']}"
    assert lines[-2:] == [
        f"answer      {said['answer']} ({verdict})",
        f"mean depth  {said['mean_depth']:.2f} of 3",
    ]


def test_depths_stand_under_their_tokens(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    tokens, depths = ["<bos>", "+", "1", "10", "<ans>"], [1, 12, 3, 2, 5]
    said = {"tokens": tokens, "depths": depths, "answer": "3", "true_answer": "3", "correct": True}
    said |= {"lenient_correct": True, "mean_depth": 4.6}
    assert _text(said, 12).splitlines() == [
        "token  <bos>   +  1",
        "depth      1  12  3",
        "token  10  <ans>",
        "depth   2      5",
        "",
        "answer      3 (right)",
        "mean depth  4.60 of 12",
    ]


def test_on_a_terminal_deeper_is_darker(monkeypatch):
    assert _shade("x", 2, 4) == "x"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    shades = [int(re.match(r"\x1b\[48;5;(\d+)m", _shade("x", depth, 4)).group(1)) for depth in (1, 2, 3, 4)]
    assert shades == sorted(shades, reverse=True)
    assert len(set(shades)) == 4
    assert _shade("x", 1, 1).endswith("x\x1b[0m")


@pytest.fixture(scope="module")
def depo(tmp_path_factory):
    return train_tiny(tmp_path_factory.mktemp("depo"), "depo-anira-o-smoke", steps=1)


MISTAKES = {
    "no run": ("nowhere", "v01", "nowhere is not a run"),
    "no checkpoint": ("{bare}", "v01", "has no checkpoint"),
    "wrong step": ("{run}", "v01 --step 9", "has no checkpoint of step 9"),
    "unknown word": ("{run}", "v01 w02", "unknown token 'w02'"),
    "no question": ("{run}", "v01 v02 v02 v01", "the question asks nothing"),
    "threshold without quantile": (
        "{run}",
        "{question} --select mode --threshold 0.5",
        "rule 'mode' of policy 'anira-o' takes no threshold",
    ),
    "quantile without threshold": ("{run}", "{question} --select quantile", "needs a threshold in (0, 1]"),
    "several answers": ("{run}", "{question} <ans> ? <eoa> <query-01> v02", "ask for one at a time"),
}


@pytest.mark.parametrize("words", [[], ["another", "+ 1 * 2 3"], ["+", "1", "2"]], ids=["none", "runs", "unquoted"])
def test_it_takes_one_run_and_one_question(anira, words):
    assert anira("generate", "nowhere", *words) == (
        2,
        "",
        'anira: generate takes one RUN and one QUESTION in quotes, as in anira generate RUN "+ 1 * 2 3"\n',
    )


@pytest.mark.parametrize(("folder", "text", "expected"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_one_line(anira, depo, tmp_path, folder, text, expected):
    bare = begin(tmp_path / "bare", tiny_config())
    text, *options = re.split(r" (?=--)", text.format(question=QUESTIONS["depo"]))
    words = [word for option in options for word in option.split()]
    status, out, err = anira("generate", folder.format(run=depo, bare=bare), text, *words)
    assert (status, out) == (2, "")
    assert err.startswith("anira: ")
    assert err.count("\n") == 1, err
    assert expected in err


def test_help_is_readable(anira):
    text = anira("generate", "--help").out
    for word in ("RUN", "QUESTION", "--step S", "--threshold T", "--json", "anira sample"):
        assert word in text


def test_a_sentence_is_continued_and_a_whole_one_is_refused(anira, tmp_path):
    run = train_tiny(tmp_path, "lano-anira-o-smoke", steps=2)
    said = json.loads(anira("generate", run, "3 1 2", "--json").out)
    assert said["tokens"][:4] == ["<bos>", "3", "1", "2"]
    assert said["lenient_correct"] >= said["correct"]
    result = anira("generate", run, "3 1 2 <eos>")
    assert (result.status, result.out) == (2, "")
    assert result.err == "anira: the question is a whole string, and nothing is left to write: leave out its <eos>\n"
