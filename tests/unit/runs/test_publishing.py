"""A published run stands alone, says what it is, and tells nothing of the machine."""

import json
import platform
import shutil
from dataclasses import replace

import pytest
import torch
from tests.training_support import train_tiny
from tests.unit.runs.runs_support import MANO, QUESTION, loaded
from transformers import AutoModelForCausalLM, AutoTokenizer

from anira.config import UserError
from anira.runs import load, publish

NAMES = {"README.md", "config.json", "generation_config.json", "loop.json", "manifest.json", "model.safetensors"}


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    folder = tmp_path_factory.mktemp("published") / "mano"
    assert publish(str(MANO), str(folder), records=True) == str(folder)
    return folder


@pytest.fixture
def copy(tmp_path):
    """A run that may be damaged."""
    folder = tmp_path / "run"
    shutil.copytree(MANO, folder)
    return folder


def files(folder):
    return {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}


def test_it_is_loaded_as_the_run_itself(published):
    run, theirs = loaded(MANO), load(published)
    assert (theirs.step, theirs.config, theirs.task.name) == (9000, run.config, "mano")
    for (name, ours), other in zip(run.model.named_parameters(), theirs.model.parameters(), strict=True):
        assert ours.equal(other), name
    for ours, other in zip(run.generate(QUESTION).tokens, theirs.generate(QUESTION).tokens, strict=True):
        assert replace(ours, exit_probs=()) == replace(other, exit_probs=())
        # On some CPUs a product is rounded by where in memory its factors lie.
        assert ours.exit_probs == pytest.approx(other.exit_probs, abs=1e-6)
    assert theirs.records().tokens.equals(run.records().tokens)
    assert theirs.metrics().equals(run.metrics())
    assert theirs.compare(run).table["difference"].unique().to_list() == [0.0]


def test_transformers_loads_it(published):
    model, tokenizer = AutoModelForCausalLM.from_pretrained(published), AutoTokenizer.from_pretrained(published)
    read = tokenizer(f"{QUESTION} <ans>", return_tensors="pt")
    with torch.no_grad():
        depths = model(**read).exit_depth[0].tolist()
    assert depths == [token.exit_depth for token in loaded(MANO).depths(QUESTION).tokens]


def test_the_card_says_what_it_is(published):
    card = (published / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: transformers\n")
    assert "on the task `mano`" in card and "The policy `anira-o`" in card
    assert "| 3 | seen | 76.8% [74.1, 79.3] | 3.97 [3.96, 3.98] |" in card
    assert "was not measured" in card
    assert 'anira.load("mano")' in card and 'from_pretrained("mano")' in card


def test_the_card_has_need_where_depths_were_forced(copy, tmp_path):
    load(copy).evaluate("3", count=20, exit_depth=1)
    publish(copy, tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text()
    assert "Need, the accuracy that forcing every token to depth 1 loses" in card
    assert not (tmp_path / "out" / "run" / "records").exists()


def test_nothing_of_the_machine_is_in_it(published):
    stored = json.loads((MANO / "config.json").read_text())
    told = json.loads((published / "run" / "config.json").read_text())
    assert set(told) <= {"config", "versions", "plugins", "sha256"}
    for file in files(published):
        content = (published / file).read_bytes()
        for word in (stored["platform"], stored["git"], str(MANO.parent), str(published.parent)):
            assert word.encode() not in content, (file, word)


def test_of_a_path_in_the_configuration_only_the_name_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(platform, "node", lambda: "private-host")
    first = train_tiny(tmp_path / "private" / "runs", steps=1)
    run = train_tiny(tmp_path / "runs", steps=1, init_from=str(first))
    publish(run, tmp_path / "out")
    found = load(tmp_path / "out")
    assert found.config.init_from == first.name
    assert all(b"private" not in (tmp_path / "out" / file).read_bytes() for file in files(tmp_path / "out"))
    with pytest.raises(UserError, match="leave out --records"):
        publish(run, tmp_path / "other", records=True)
    assert not (tmp_path / "other").exists()


def test_links_and_unlisted_files_stay_behind(copy, tmp_path):
    checkpoint = copy / "checkpoints" / "step-9000"
    (checkpoint / "tokenizer_secret.json").write_text("{}")
    (copy / "notes.txt").write_text("secret")
    (copy / "records" / "final" / "more.parquet").write_text("secret")
    publish(copy, tmp_path / "out", records=True)
    found = files(tmp_path / "out")
    assert {name for name in found if "/" not in name} == {*NAMES, "tokenizer.json", "tokenizer_config.json"}
    assert not [name for name in found if "secret" in name or name.endswith(("notes.txt", "more.parquet"))]
    (copy / "records" / "linked").symlink_to(copy / "records" / "final")
    with pytest.raises(UserError, match="is a symbolic link"):
        publish(copy, tmp_path / "linked", records=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "run"]


def test_what_is_there_stays_and_what_is_no_run_is_refused(published, tmp_path):
    with pytest.raises(UserError, match="is there already"):
        publish(MANO, published)
    with pytest.raises(UserError, match="private is for the hub"):
        publish(MANO, tmp_path / "out", private=True)
    with pytest.raises(UserError, match="publish the run"):
        publish(MANO / "checkpoints" / "step-9000", tmp_path / "out")
    with pytest.raises(UserError, match="publish the run"):
        publish(published, tmp_path / "out")


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "loop.json", "run/config.json"])
def test_a_damaged_copy_is_refused(published, tmp_path, name):
    folder = tmp_path / "damaged"
    shutil.copytree(published, folder)
    (folder / name).write_bytes((folder / name).read_bytes().replace(b"2", b"3", 1))
    with pytest.raises(UserError, match="is damaged"):
        load(folder)


class Hub:
    """Takes what is published as the hub would."""

    def __init__(self, error=None, private=True):
        self.calls, self.files, self.error, self.private = [], set(), error, private

    def model_info(self, name):
        return self

    def create_repo(self, name, **options):
        self.calls.append((name, options))

    def upload_folder(self, *, repo_id, folder_path, **options):
        if self.error:
            raise self.error
        self.calls.append((repo_id, options))
        self.files = files(folder_path)
        self.card = (folder_path / "README.md").read_text()


def test_the_hub_gets_the_same_folder_in_one_commit(published, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hub = Hub()
    assert publish(MANO, "hf://someone/mano", private=True, api=hub) == "https://huggingface.co/someone/mano"
    assert hub.files == {name for name in files(published) if "/records/" not in name}
    (created, options), (_, uploaded) = hub.calls
    assert (created, options["private"], options["exist_ok"]) == ("someone/mano", True, True)
    assert "run/*" in uploaded["delete_patterns"]
    assert 'anira.load("someone/mano")' in hub.card
    assert not list(tmp_path.iterdir())


def test_what_should_be_private_is_not_added_to_what_is_public(tmp_path, monkeypatch):
    """The hub ignores the wish where there is such a repository already."""
    monkeypatch.chdir(tmp_path)
    hub = Hub(private=False)
    with pytest.raises(UserError, match=r"on the hub already, and public"):
        publish(MANO, "hf://someone/mano", private=True, api=hub)
    assert not hub.files
    publish(MANO, "hf://someone/mano", api=hub)
    assert hub.files


@pytest.mark.parametrize("place", ["hf://mano", "hf://a/b/c", "hf:///tmp", "hf://../x"])
def test_what_is_no_place_on_the_hub_is_refused(place):
    with pytest.raises(UserError, match="is no place on the hub"):
        publish(MANO, place, api=Hub())


def test_what_the_hub_refuses_is_told_in_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="cannot publish to someone/mano on the hub: no"):
        publish(MANO, "hf://someone/mano", api=Hub(RuntimeError("no")))


def test_the_command_says_where_it_is(anira, tmp_path):
    result = anira("publish", MANO, "--to", tmp_path / "out")
    assert (result.status, result.out.strip()) == (0, str(tmp_path / "out"))
    assert "anira.load" in result.err
