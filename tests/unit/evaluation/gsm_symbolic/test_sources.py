"""Where questions, examples and models come from, and one line for each that is not there."""

import importlib.util
import json
import sys
from types import SimpleNamespace

import huggingface_hub
import pytest
import torch
from tests.gsm_support import SHOTS, byte_tokenizer, row, save, tiny_llama, write_data, write_shots

from anira.config import UserError
from anira.evaluation.gsm_symbolic import load_model, read_problems, read_shots
from anira.evaluation.gsm_symbolic.sources import harness_shots
from anira.tasks.gsm_symbolic import last_number, make_shot


def hub(rows):
    """Stand in for the package datasets: rows of each configuration."""

    def load_dataset(name, config, split):
        assert split == "test"
        if isinstance(rows, Exception):
            raise rows
        return rows[config]

    return SimpleNamespace(load_dataset=load_dataset)


def test_the_hub_gives_the_same_questions_as_a_folder(tmp_path, monkeypatch):
    folder = read_problems(str(write_data(tmp_path)))
    files = {name: (tmp_path / name / "test.jsonl").read_text().splitlines() for name in ("main", "p1", "p2")}
    rows = {name: [json.loads(line) for line in lines] for name, lines in files.items()}
    monkeypatch.setitem(sys.modules, "datasets", hub(rows))
    found = read_problems("apple/GSM-Symbolic")
    assert (found.by_split, found.shared) == (folder.by_split, folder.shared)
    assert read_problems("apple/GSM-Symbolic", ["main"]).shared == folder.shared


def test_hub_rows_are_checked_too(monkeypatch):
    broken = {name: [row(name, 0, 0, "no number")] for name in ("main", "p2")}
    monkeypatch.setitem(sys.modules, "datasets", hub(broken))
    with pytest.raises(UserError, match=r"apple/GSM-Symbolic \(main\), row 1: the answer does not end"):
        read_problems("apple/GSM-Symbolic", ["main"])


def test_a_hub_that_cannot_be_reached_or_is_gated_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", hub(ConnectionError("no route\nto host")))
    with pytest.raises(UserError, match=r"from the hub: no route \(if it is gated, .* without network, give a folder"):
        read_problems("apple/GSM-Symbolic")
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UserError, match=r"no folder here, .* needs the package datasets: pip install"):
        read_problems("apple/GSM-Symbolic")


def test_examples_of_a_file(tmp_path):
    assert read_shots(write_shots(tmp_path / "shots.jsonl")) == tuple(make_shot(**one) for one in SHOTS)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "has no examples"),
        ("{", "not JSON"),
        ('{"question": "q"}', "must have question and target"),
        ('{"question": "q", "target": "none"}', "ends in 'The answer is N.'"),
    ],
)
def test_damaged_examples_are_refused(tmp_path, text, complaint):
    path = tmp_path / "shots.jsonl"
    path.write_text(text)
    with pytest.raises(UserError, match=str(path)) as raised:
        read_shots(path)
    assert complaint in str(raised.value)


def test_examples_need_the_harness(monkeypatch, tmp_path):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"lm-evaluation-harness, which is not installed: .* --shots FILE"):
        harness_shots()
    elsewhere = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: elsewhere)
    with pytest.raises(UserError, match=r"gsm8k-cot.yaml is missing: install lm_eval"):
        harness_shots()


def test_the_harness_has_eight_examples_whose_steps_lead_to_their_number():
    pytest.importorskip("lm_eval")
    shots = harness_shots()
    assert len({one.question for one in shots}) == 8
    assert all(last_number(one.steps) == last_number(one.number) for one in shots if "left" not in one.steps)


def test_a_model_that_is_not_there_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)  # read from the environment at import
    for source in (str(tmp_path / "nowhere"), "./nowhere"):
        with pytest.raises(UserError, match="is no folder of a model"):
            load_model(source)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="cannot load the tokenizer"):
        load_model(str(tmp_path / "empty"))
    with pytest.raises(UserError, match=r"cannot load the tokenizer nobody/nothing: .*without network, give a folder"):
        load_model("nobody/nothing")


def test_a_tokenizer_with_more_tokens_than_embeddings_is_refused(tmp_path):
    folder = save(tiny_llama(), tmp_path / "model")
    assert load_model(str(folder)).name == "model"
    tokenizer = byte_tokenizer()
    tokenizer.add_tokens(["<more>"])
    tokenizer.save_pretrained(folder)
    with pytest.raises(UserError, match="token ids up to 257, but the model only 257 embeddings"):
        load_model(str(folder))


def test_devices_that_are_not_there_are_refused(tmp_path):
    with pytest.raises(UserError, match="'teapot' is no device"):
        load_model("model", device="teapot")
    if not torch.cuda.is_available():
        with pytest.raises(UserError, match="there is no device 'cuda:0' here"):
            load_model("model", device="cuda:0")
