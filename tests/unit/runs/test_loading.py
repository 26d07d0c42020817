"""`anira.load`: runs, models without a run, and everything that is neither."""

import shutil

import pytest
from tests.text_support import make_corpus
from tests.training_support import TINY_MODEL, TINY_RUN
from tests.unit.runs.runs_support import MANO, QUESTION, RESULTS, loaded

import anira
from anira.config import UserError
from anira.runs import publish


def test_a_run_knows_its_model_task_and_configuration():
    run = anira.load(str(MANO))
    assert (run.step, run.config.seed, run.task.name, run.path) == (9000, 1, "mano", MANO)
    assert not run.model.training
    assert "mano-anira-o-cpu, seed 1, step 9000 of 9000" in repr(run)


def test_the_id_of_a_published_run_is_enough(monkeypatch):
    monkeypatch.chdir(RESULTS.parent)
    assert anira.load("mano-anira-o-cpu/02c76274-s1").source.resolve() == MANO


def test_a_models_folder_needs_no_run():
    alone, run = anira.load(MANO / "checkpoints" / "step-9000"), loaded(MANO)
    assert (alone.config, alone.step, alone.path) == (None, None, None)
    assert [token.exit_depth for token in alone.depths(f"{QUESTION} <ans>").tokens] == [
        token.exit_depth for token in run.depths(QUESTION).tokens
    ]
    assert alone.generate(f"{QUESTION} <ans>", max_new_tokens=1).answer == run.generate(QUESTION).answer
    with pytest.raises(UserError, match="it is a model of text"):
        _ = alone.task


def test_a_released_model_is_loaded_as_ours(tmp_path):
    folder = tmp_path / "ouro"
    shutil.copytree(RESULTS.parent / "tests/golden/data/looped/ouro", folder)
    with pytest.raises(UserError, match="no tokenizer"):
        anira.load(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(MANO / "checkpoints" / "step-9000" / name, folder / name)
    assert anira.load(folder).depths(QUESTION).max_depth == 4


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("no-such-folder", "not a name on the hub"),
        (RESULTS / "mano-anira-o-cpu", "holds 4 runs: give one of them"),
        (MANO / "records", "is not a run: it has no config.json"),
    ],
)
def test_what_is_no_run_is_refused(path, said):
    with pytest.raises(UserError, match=said):
        anira.load(path)


def test_a_step_that_is_not_there_is_refused():
    with pytest.raises(UserError, match=r"no checkpoint of step 7; kept: \[9000\]"):
        anira.load(MANO, step=7)
    with pytest.raises(UserError, match="leave it out"):
        anira.load(MANO / "checkpoints" / "step-9000", step=9000)


def test_a_damaged_run_and_a_damaged_model_are_refused(tmp_path):
    run = tmp_path / "run"
    shutil.copytree(MANO, run)
    weights = run / "checkpoints" / "step-9000" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8])
    with pytest.raises(UserError, match=r"model\.safetensors has changed"):
        anira.load(run)
    with pytest.raises(UserError, match="cannot load the model"):
        anira.load(weights.parent)


def test_a_run_on_text_reads_any_text(tmp_path):
    make_corpus(tmp_path / "data")
    changes = {**TINY_RUN, "steps": 2, "max_length": 16, "data": str(tmp_path / "data"), "compile": False}
    sizes = {f"model.{name}": value for name, value in TINY_MODEL.items()}
    run = anira.train("text-anira-o-smoke", changes={**changes, **sizes}, out=tmp_path / "runs")
    found = run.depths("ab c")
    assert [token.text for token in found.tokens] == ["<bos>", "a", "b", " ", "c"]
    assert all(token.asked and token.truth is None for token in found.tokens)
    assert len(run.generate("ab", max_new_tokens=3).tokens) <= 5
    assert publish(run.path, tmp_path / "out") == str(tmp_path / "out")
    theirs = anira.load(tmp_path / "out")
    assert theirs.depths("ab c") == found
    assert theirs.config.text.data == "data"
