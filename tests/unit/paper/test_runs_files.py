"""Which runs an experiment uses: finished ones as they are, or one that is trained."""

import json
import shutil
from dataclasses import replace

import pytest
from tests.sealing_support import edit_json, plain, seal_run
from tests.training_support import begin, tiny_config, train_tiny

from anira.config import UserError
from anira.config.sealed import write_sealed
from anira.paper.figures import FIGURES, load_figure
from anira.paper.runs import is_finished, runs_of
from anira.paper.setting import Setting

PRESET = "mano-anira-o-smoke"


def no_training(name, out, changes):
    raise AssertionError("a finished run is there")


def setting(root, train=no_training, told=None):
    tell = (told if told is not None else []).append
    return Setting(scale="smoke", out=root, runs=root / "runs", train=train, tell=tell)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    return train_tiny(root / "runs", PRESET)


@pytest.fixture
def root(trained, tmp_path):
    """A folder with one finished run."""
    shutil.copytree(trained.parents[1], tmp_path / "runs")
    return tmp_path


def the_run(root):
    (folder,) = (root / "runs" / PRESET).iterdir()
    return folder


def test_a_finished_run_is_used_as_it_is(root):
    told = []
    (run,) = runs_of(PRESET, setting(root, told=told))
    assert (run.preset, run.folder, run.found) == (PRESET, the_run(root), True)
    assert told == [f"{PRESET}: 1 finished run in {root / 'runs' / PRESET}"]


def test_what_is_not_as_in_the_preset_is_said(root):
    (run,) = runs_of(PRESET, setting(root))
    assert "steps 8 (20)" in run.differs
    assert "model.hidden_size 16 (32)" in run.differs
    assert not any(word.startswith(("threads", "seed", "eval_every")) for word in run.differs)
    assert run.origin == f"found; not as the preset: {', '.join(run.differs)}"


def test_all_finished_runs_are_used(root):
    first = the_run(root)
    shutil.copytree(first, first.with_name("zzzzzzzz-s1"))
    assert [run.folder for run in runs_of(PRESET, setting(root))] == [first, first.with_name("zzzzzzzz-s1")]


def test_published_runs_come_first_and_count_once(root):
    folder = the_run(root)
    shutil.copytree(root / "runs", root / "results")
    shutil.copytree(folder, folder.with_name("zzzzzzzz-s1"))
    runs = runs_of(PRESET, replace(setting(root), published=(root / "results", root / "nowhere")))
    assert [run.folder for run in runs] == [root / "results" / PRESET / folder.name, folder.with_name("zzzzzzzz-s1")]


def another_run(root, name, **changes):
    """Copy the run as one with another configuration."""
    copy = root / "runs" / PRESET / name
    shutil.copytree(next((root / "runs" / PRESET).iterdir()), copy)
    stored = json.loads((copy / "config.json").read_text())
    stored["config"].update(changes)
    (copy / "config.json").write_text(json.dumps(stored))
    seal_run(copy)
    return copy


def test_runs_that_learned_otherwise_are_not_taken_for_seeds(root):
    """Most runs decide, until there is one that is as the preset says."""
    first = the_run(root)
    another_run(root, "longer-s0", learning_rate=0.5)
    shutil.copytree(first, first.with_name("zzzzzzzz-s1"))
    assert [run.folder.name for run in runs_of(PRESET, setting(root))] == [first.name, "zzzzzzzz-s1"]


def test_an_experiment_may_ask_for_another_setting(root):
    """Runs with a warm-up of gamma do not stand in for those without, nor the other way round."""
    asked = []

    def train(name, out, changes):
        asked.append(changes)
        return the_run(root)

    warm = {"gamma_warmup_steps": 7}
    runs_of(PRESET, setting(root, train), changes=warm)
    assert asked == [warm]
    another_run(root, "warm-s0", **warm)
    (warmed,) = runs_of(PRESET, setting(root), changes=warm)
    assert (warmed.folder.name, "gamma_warmup_steps 7 (0)" in warmed.differs) == ("warm-s0", True)


def test_without_a_finished_run_one_is_trained(trained, tmp_path):
    asked = []

    def train(name, out, changes):
        asked.append((name, out, changes))
        shutil.copytree(trained, out / name / trained.name)
        return out / name / trained.name

    begin(tmp_path / "runs", tiny_config(PRESET, seed=3))  # begun, not finished
    (run,) = runs_of(PRESET, setting(tmp_path, train))
    assert asked == [(PRESET, tmp_path / "runs", {})]
    assert (run.found, run.folder.name) == (False, trained.name)
    assert run.origin.startswith("trained in 0 s; not as the preset: ")


def test_a_run_is_finished_with_its_last_evaluation(root):
    folder = the_run(root)
    assert is_finished(folder)
    state = folder / "records" / "final" / "evaluation.json"
    whole = plain(state)
    for change in ({"complete": False}, {"step": 4}):
        write_sealed(state, {**whole, **change})
        assert not is_finished(folder)
    assert not is_finished(root / "nowhere")


def test_a_finished_run_whose_records_are_damaged_is_not_trained_again(root):
    folder = the_run(root)
    (folder / "records" / "final" / "evaluation.json").write_text("{")
    with pytest.raises(UserError, match=r"cannot read .*evaluation\.json.*has a last evaluation: repair the file, or"):
        is_finished(folder)


def test_records_of_another_run_do_not_make_a_run_finished(root):
    folder = the_run(root)
    edit_json(folder / "config.json", config={**plain(folder / "config.json")["config"], "seed": 5})
    with pytest.raises(UserError, match="has records of another run"):
        runs_of(PRESET, setting(root))


def test_a_finished_run_whose_configuration_cannot_be_read_is_not_trained_again(root):
    """One unknown key, as another version may have written it, must not cost hours."""
    folder = the_run(root)
    stored = json.loads((folder / "config.json").read_text())
    stored["config"]["colour"] = "red"
    (folder / "config.json").write_text(json.dumps(stored))
    seal_run(folder)
    with pytest.raises(UserError, match=r"colour.*has a last evaluation: repair the file, or move") as raised:
        runs_of(PRESET, setting(root))
    assert str(folder) in str(raised.value)
    shutil.rmtree(folder / "records" / "final")
    assert not is_finished(folder)


@pytest.mark.parametrize("name", FIGURES)
def test_every_experiment_can_be_loaded(name):
    assert callable(load_figure(name))


def test_an_unknown_experiment_is_refused():
    with pytest.raises(UserError, match="unknown figure 'lamo': did you mean 'lano'"):
        load_figure("lamo")
