import errno
import json
import pickle
import shutil
import zipfile
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.training_support import resume, tiny_config, train_tiny, weights
from transformers import AutoModelForCausalLM, AutoTokenizer

import anira.training.checkpoint as checkpoints
from anira.config import UserError, config_hash
from anira.models import AniraForCausalLM
from anira.training import RunFolder
from anira.training.checkpoint import check_checkpoint, latest_checkpoint, load_checkpoint, save_checkpoint
from anira.training.run import load_run

FILES = (
    "config.json",
    "generation_config.json",
    "loop.json",
    "manifest.json",
    "model.safetensors",
    "optimizer.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return train_tiny(tmp_path_factory.mktemp("run"), "brevo-anira-e-smoke", steps=3)


@pytest.fixture
def copy(run, tmp_path):
    """A run to damage."""
    return shutil.copytree(run, tmp_path / "run")


@pytest.fixture(scope="module")
def files(run):
    """The last checkpoint and the content of its files."""
    folder = latest_checkpoint(run)
    return folder, {name: (folder / name).read_bytes() for name in FILES}


def blank(config):
    """A model and an optimizer that know nothing yet."""
    model = AniraForCausalLM(config.make_model_config(config.make_task()))
    return model, torch.optim.AdamW(model.parameters())


def test_a_checkpoint_is_a_whole_hugging_face_folder(run, files):
    folder, content = files
    assert sorted(path.name for path in folder.iterdir()) == sorted(content)
    model = AutoModelForCausalLM.from_pretrained(folder)
    assert isinstance(model, AniraForCausalLM)
    for name, value in weights(run).items():
        assert torch.equal(model.state_dict()[name], value)
    assert model.generation_config.eos_token_id == model.config.eos_token_id


@pytest.mark.parametrize("task", ["mano", "brevo", "depo"])
def test_its_tokenizer_reads_what_the_task_reads(tmp_path, task):
    config = tiny_config(f"{task}-fixed-smoke")
    task = config.make_task()
    model, optimizer = blank(config)
    save_checkpoint(tmp_path / "step-0", model, optimizer, task.vocab, {})
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "step-0")
    rows = task.rows(seed=0, stream="eval", start=0, count=20, knob=task.knob.seen[-1])
    for i in range(20):
        question = task.instance(rows, i).question
        assert tokenizer(question)["input_ids"] == task.vocab.encode(f"<bos> {question}")
        assert tokenizer.decode(rows.ids(i)) == task.vocab.decode(rows.ids(i))
    assert len(tokenizer) == len(task.vocab)
    assert tokenizer.pad_token_id == 0
    assert tokenizer.bos_token == "<bos>"
    with pytest.raises(Exception, match="UNK"):  # as the task, it does not guess
        tokenizer("no-word-of-it")


def test_nothing_in_it_is_a_pickle(files):
    folder, content = files
    for name, data in content.items():
        assert not zipfile.is_zipfile(folder / name)  # how torch.save packs pickles
        with pytest.raises(Exception):  # noqa: B017 (whatever unpickling nonsense raises)
            pickle.loads(data)


def test_the_optimizer_comes_back_with_the_weights(files):
    folder, _ = files
    config = RunFolder(folder.parents[1]).read_config()
    model, optimizer = blank(config)
    loop = load_checkpoint(folder, model, optimizer, config_hash(config))
    assert loop["step"] == 3
    for parameter in model.parameters():
        state = optimizer.state[parameter]
        assert state["step"] == 3
        assert state["exp_avg"].shape == state["exp_avg_sq"].shape == parameter.shape
    assert any(state["exp_avg"].any() for state in optimizer.state.values())


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_refused_by_name(copy, name):
    folder = latest_checkpoint(copy)
    (folder / name).unlink()
    with pytest.raises(UserError) as caught:
        resume(copy)
    assert str(folder) in str(caught.value)
    assert name in str(caught.value)


@pytest.mark.parametrize("name", FILES)
def test_a_truncated_file_is_refused_by_name(copy, name):
    folder = latest_checkpoint(copy)
    (folder / name).write_bytes((folder / name).read_bytes()[:-3])
    with pytest.raises(UserError) as caught:
        load_run(copy, None)
    assert str(folder) in str(caught.value)
    assert name in str(caught.value)


@settings(max_examples=60)
@given(name=st.sampled_from(FILES), data=st.data())
def test_a_flipped_bit_anywhere_is_refused(files, name, data):
    folder, content = files
    damaged, own = bytearray(content[name]), json.loads(content["loop.json"])["config_hash"]
    bit = data.draw(st.integers(0, 8 * len(damaged) - 1))
    damaged[bit // 8] ^= 1 << bit % 8
    try:
        (folder / name).write_bytes(damaged)
        with pytest.raises(UserError, match=str(folder)):
            check_checkpoint(folder, own)
    finally:
        (folder / name).write_bytes(content[name])
    check_checkpoint(folder, own)


def test_a_checkpoint_of_another_run_is_refused(copy, tmp_path):
    other = train_tiny(tmp_path / "other", "brevo-anira-e-smoke", steps=3, seed=1)
    folder = latest_checkpoint(copy)
    shutil.rmtree(folder)
    shutil.copytree(latest_checkpoint(other), folder)
    with pytest.raises(UserError, match="belongs to another run") as caught:
        resume(copy)
    assert str(folder) in str(caught.value)


def test_a_checkpoint_that_does_not_fit_the_model_is_refused(copy):
    """Only somebody who edits files gets here; still not a traceback from deep inside torch."""
    folder = latest_checkpoint(copy)
    loop = json.loads((folder / "loop.json").read_text())
    model, optimizer = blank(tiny_config("brevo-fixed-smoke"))
    with pytest.raises(UserError, match="does not fit the model"):
        load_checkpoint(folder, model, optimizer, loop["config_hash"])


NO_SPACE = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("place", ["save_file", "save_tokenizer", "write_manifest", "Path.rename", "Path.mkdir"])
def test_a_full_disk_leaves_the_last_good_checkpoint(copy, monkeypatch, place):
    def full(*words, **options):
        raise NO_SPACE

    config = RunFolder(copy).read_config()
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    owner, _, name = place.rpartition(".")
    monkeypatch.setattr(Path if owner else checkpoints, name, full)
    model, optimizer = blank(config)
    with pytest.raises(UserError, match=r"cannot write .*step-9.*No space left"):
        save_checkpoint(copy / "checkpoints" / "step-9", model, optimizer, config.make_task().vocab, {})
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before
    assert latest_checkpoint(copy).name == "step-3"


def test_an_error_that_is_a_bug_stays_one(tmp_path, monkeypatch):
    def broken(folder):
        raise TypeError("a bug")

    config = tiny_config()
    monkeypatch.setattr(checkpoints, "write_manifest", broken)
    with pytest.raises(TypeError):
        save_checkpoint(tmp_path / "step-1", *blank(config), config.make_task().vocab, {})
    assert list(tmp_path.iterdir()) == []


def test_saving_says_nothing(capfd, tmp_path):
    config = tiny_config()
    save_checkpoint(tmp_path / "step-1", *blank(config), config.make_task().vocab, {})
    assert capfd.readouterr() == ("", "")
