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
from safetensors.torch import load_file, save_file
from tests.sealing_support import edit_json, plain
from tests.training_support import assert_same_run, resume, tiny_config, train_tiny, weights
from transformers import AutoModelForCausalLM, AutoTokenizer

import anira.training.checkpoint as checkpoints
from anira.config import UserError, config_hash
from anira.config.sealed import facts_of, write_sealed
from anira.models import AniraForCausalLM
from anira.training import RunFolder
from anira.training.checkpoint import (
    check_checkpoint,
    latest_checkpoint,
    load_checkpoint,
    save_checkpoint,
    write_manifest,
)
from anira.training.run import load_run

FILES = (
    "README.md",
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
    with pytest.raises(Exception, match="unknown token"):  # as the task, it does not guess
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


def edit_weights(folder, change):
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    write_manifest(folder)


def answers(path):
    """What a run's model says, to see whether something has changed it."""
    return load_run(path)[1](torch.arange(6)[None]).logits


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda tensors: tensors.pop("lm_head.weight"), "it has no tensor lm_head.weight"),
        (lambda tensors: tensors.update(extra=torch.zeros(3)), r"extra, \[3\] of F32, is no tensor of the model"),
        (
            lambda tensors: tensors.update({"lm_head.weight": torch.zeros(2, 16)}),
            r"lm_head.weight, \[2, 16\] of F32, must be \[11, 16\] of F32",
        ),
        (
            lambda tensors: tensors.update({"lm_head.weight": tensors["lm_head.weight"].double()}),
            "lm_head.weight, .* of F64, must be .* of F32",
        ),
    ],
)
def test_weights_that_do_not_fit_are_refused_by_name(copy, change, complaint):
    edit_weights(latest_checkpoint(copy), change)
    for use in (load_run, resume):
        with pytest.raises(UserError, match=rf"does not fit the model: .*{complaint}"):
            use(copy)


def test_weights_in_several_files_are_read(copy):
    folder, expected = latest_checkpoint(copy), answers(copy)
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    for i, names in enumerate((sorted(tensors)[::2], sorted(tensors)[1::2]), start=1):
        part = {name: tensors[name] for name in names}
        save_file(part, folder / f"model-{i:05d}-of-00002.safetensors", {"format": "pt"})
    write_manifest(folder)
    assert torch.equal(answers(copy), expected)
    (folder / "model-00002-of-00002.safetensors").unlink()
    write_manifest(folder)
    with pytest.raises(UserError, match="it has no tensor"):
        load_run(copy)


def test_files_that_are_not_listed_change_nothing(copy):
    expected = answers(copy)
    folder = latest_checkpoint(copy)
    (folder / "adapter_config.json").write_text('{"peft_type": "LORA", "r": 2, "target_modules": ["q_proj"]}')
    (folder / "adapter_model.safetensors").write_bytes((folder / "model.safetensors").read_bytes())
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({}))
    (folder / "model-00001-of-00001.safetensors").write_bytes(b"not listed")
    assert torch.equal(answers(copy), expected)


@pytest.mark.parametrize("listed", [{}, {"files": {}}, {"files": []}, {"files": {"loop.json": 3}}])
def test_a_manifest_that_lists_too_little_is_refused(copy, listed):
    folder = latest_checkpoint(copy)
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({}))
    write_sealed(folder / "manifest.json", listed)
    with pytest.raises(UserError, match=str(folder)):
        load_run(copy)


@pytest.mark.parametrize("name", ["../secret", "/etc/hostname", "..", ".hidden"])
def test_a_manifest_that_leads_out_of_the_folder_is_refused(copy, name):
    folder = latest_checkpoint(copy)
    listed = {file: facts_of(folder / file) for file in FILES if file != "manifest.json"}
    write_sealed(folder / "manifest.json", {"files": {**listed, name: {"bytes": 1, "sha256": ""}}})
    with pytest.raises(UserError, match="cannot be the name of something in a folder"):
        load_run(copy)


@pytest.mark.parametrize("name", ["model.safetensors", "loop.json", "manifest.json"])
def test_a_link_in_a_checkpoint_is_not_followed(copy, tmp_path, name):
    folder = latest_checkpoint(copy)
    (folder / name).rename(tmp_path / name)
    (folder / name).symlink_to(tmp_path / name)
    with pytest.raises(UserError, match=f"{name} is a symbolic link"):
        load_run(copy)


def test_loading_draws_from_no_global_random_state(run):
    before = torch.get_rng_state()
    load_run(run)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("change", [{"seed": 1}, {"task_config": {"max_nodes": 5}}, {"learning_rate": 0.5}])
def test_a_run_whose_configuration_was_changed_does_not_own_its_checkpoints(copy, change):
    config = plain(copy / "config.json")["config"]
    task = {**config["task_config"], **change.get("task_config", {})}
    edit_json(copy / "config.json", config={**config, **change, "task_config": task})
    for use in (load_run, resume):
        with pytest.raises(UserError, match="belongs to another run"):
            use(copy)


def test_the_weights_of_another_policy_are_not_taken(copy, tmp_path):
    other = train_tiny(tmp_path / "other", "brevo-anira-o-smoke", steps=3)
    folder = latest_checkpoint(copy)
    shutil.copyfile(latest_checkpoint(other) / "model.safetensors", folder / "model.safetensors")
    with pytest.raises(UserError, match=r"content of model\.safetensors has changed"):
        load_run(copy)
    shutil.rmtree(folder)
    shutil.copytree(latest_checkpoint(other), folder)
    with pytest.raises(UserError, match="belongs to another run"):
        load_run(copy)


def test_a_checkpoint_under_the_name_of_another_step_is_refused(copy):
    folder = latest_checkpoint(copy)
    folder.rename(folder.with_name("step-9"))
    with pytest.raises(UserError, match="it is the checkpoint of step 3"):
        load_run(copy)


def test_what_lies_beside_the_checkpoints_is_left_alone(copy):
    folder = latest_checkpoint(copy)
    for name in ("step-3.bak", "step-", "step-03", "step-4 copy", "notes"):
        shutil.copytree(folder, folder.with_name(name))
    assert load_run(copy)[2] == 3
    resume(copy)
    assert folder.with_name("step-3.bak").is_dir()


@pytest.mark.parametrize("what", ["link", "file", "nothing"])
def test_what_has_the_name_of_a_checkpoint_must_be_one(copy, what):
    path = copy / "checkpoints" / "step-9"
    if what == "file":
        path.write_text("a file")
    else:
        path.symlink_to(latest_checkpoint(copy) if what == "link" else "nothing")
    for use in (load_run, resume):
        with pytest.raises(UserError, match=r"step-9 is (a symbolic link|not a checkpoint)"):
            use(copy)


def test_a_damaged_checkpoint_comes_with_the_offer_of_a_whole_one(copy):
    newest = latest_checkpoint(copy)
    (newest / "model.safetensors").write_bytes(b"")
    with pytest.raises(UserError, match=r"model\.safetensors has changed; step 2 is whole: --step 2$"):
        load_run(copy)
    assert load_run(copy, 2)[2] == 2
    with pytest.raises(UserError, match=rf"step 2 is whole: to go on from there, rm -r {newest} and resume again$"):
        resume(copy)
    (newest.with_name("step-2") / "loop.json").unlink()
    with pytest.raises(UserError, match=r"model\.safetensors has changed$"):
        load_run(copy)


def test_an_older_checkpoint_leads_to_the_same_end(copy, run):
    newest = latest_checkpoint(copy)
    (newest / "optimizer.safetensors").write_bytes(b"")
    shutil.rmtree(newest)
    assert_same_run(resume(copy), run)


@pytest.mark.parametrize(
    "change",
    [
        lambda tensors: tensors.update({"lm_head.weight/exp_avg": torch.zeros(3)}),
        lambda tensors: tensors.update({"nobody/step": torch.zeros(())}),
        lambda tensors: tensors.update({"lm_head.weight/surprise": torch.zeros(())}),
    ],
)
def test_an_optimizer_that_does_not_fit_is_refused(copy, change):
    folder = latest_checkpoint(copy)
    tensors = load_file(folder / "optimizer.safetensors")
    change(tensors)
    save_file(tensors, folder / "optimizer.safetensors")
    write_manifest(folder)
    with pytest.raises(UserError, match=r"optimizer\.safetensors does not fit the model"):
        resume(copy)


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
