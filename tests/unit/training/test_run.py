import json
import os
import shutil

import pytest
from tests.sealing_support import edit_json, plain
from tests.training_support import Child, begin, resume, tiny_config, train_tiny, weights

from anira.config import UserError, config_hash
from anira.config.sealed import end_line
from anira.training import RunFolder
from anira.training.checkpoint import keep_last
from anira.training.run import NO_METRICS, MetricsFile, load_run

CONFIG = tiny_config(steps=3)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return train_tiny(tmp_path_factory.mktemp("run"), steps=3)


def test_the_folder_follows_from_the_configuration(tmp_path):
    path = begin(tmp_path, CONFIG)
    assert path == tmp_path / "mano-anira-o-smoke" / f"{config_hash(CONFIG)}-s0"
    assert RunFolder(path).read_config() == CONFIG


def test_the_configuration_stands_beside_what_else_the_result_depends_on(run):
    facts = json.loads((run / "config.json").read_text())
    assert {"config", "versions", "git", "platform"} <= set(facts)
    assert {"anira", "torch", "transformers", "accelerate", "numpy"} <= set(facts["versions"])
    assert facts["config"]["variant"] == "anira-o"
    assert facts["config"]["model"]["policy"]["name"] == "anira-o"


def test_a_machine_without_git_can_train(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    path = begin(tmp_path, CONFIG)
    assert json.loads((path / "config.json").read_text())["git"] == ""


def test_the_same_run_twice_is_refused_with_a_hint(tmp_path):
    path = begin(tmp_path, CONFIG)
    assert begin(tmp_path, CONFIG) == path  # there is nothing to lose yet
    (path / "metrics.jsonl").write_text("{}\n")
    before = (path / "config.json").read_bytes()
    with pytest.raises(UserError, match="--resume") as caught:
        begin(tmp_path, CONFIG)
    assert str(path) in str(caught.value)
    assert (path / "config.json").read_bytes() == before
    assert begin(tmp_path, tiny_config(steps=3, seed=1)) != path


def test_two_processes_never_share_a_folder(tmp_path):
    path = begin(tmp_path, tiny_config(steps=10**6, log_every=1, eval_every=10**6, checkpoint_every=10**6))
    child = Child(tmp_path / "child", "train", "--resume", path)
    try:
        child.wait_for_line(path / "metrics.jsonl")
        with pytest.raises(UserError, match="another process is training in"), RunFolder(path):
            pass
    finally:
        child.kill()
    with RunFolder(path):  # the lock died with its holder
        pass


def test_within_a_process_neither(tmp_path):
    path = begin(tmp_path, CONFIG)
    with RunFolder(path), pytest.raises(UserError, match="another process"), RunFolder(path):
        pass
    with RunFolder(path):
        pass


def test_what_a_killed_process_left_is_removed_by_the_next_one(tmp_path):
    path = begin(tmp_path, CONFIG)
    stale = [path / ".config.json.elsewhere.1.part", path / "checkpoints" / ".step-7.elsewhere.1.part"]
    stale[0].write_text("half")
    stale[1].mkdir(parents=True)
    with RunFolder(path):
        assert not any(part.exists() for part in stale)
        stale[0].write_text("its own")
        with pytest.raises(UserError, match="another process"), RunFolder(path):
            pass
        assert stale[0].exists()


@pytest.mark.parametrize("content", [None, "{", "[]", "{}", '{"config": {}}', '{"config": {"preset": 3}}'])
def test_what_is_not_a_run_is_refused_by_name(tmp_path, content):
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    with pytest.raises(UserError, match="is not a run") as caught:
        load_run(tmp_path, None)
    assert str(tmp_path) in str(caught.value)
    assert "Errno" not in str(caught.value)


@pytest.mark.parametrize(
    "change", [{"model": 3}, {"task_config": None}, {"model": {"max_depth": -1e300}}, {"steps": "8"}]
)
def test_a_configuration_that_cannot_be_is_refused_by_name(tmp_path, change):
    path = begin(tmp_path, CONFIG)
    edit_json(path / "config.json", config={**plain(path / "config.json")["config"], **change})
    with pytest.raises(UserError, match="is not a run"):
        load_run(path)


@pytest.mark.parametrize("name", ["config.json", "metrics.jsonl", "records", "checkpoints", ".lock"])
def test_a_link_in_the_folder_stops_training_before_anything_is_written(tmp_path, name):
    path = begin(tmp_path / "runs", CONFIG)
    outside = tmp_path / "outside"
    outside.write_text("mine")
    (path / name).unlink(missing_ok=True)
    (path / name).symlink_to(outside)
    with pytest.raises((UserError, OSError)), RunFolder(path):
        pytest.fail("it was entered")
    assert outside.read_text() == "mine"


def test_a_folder_of_runs_is_said_to_be_one(tmp_path):
    for seed in (0, 1):
        begin(tmp_path, tiny_config(seed=seed))
    with pytest.raises(UserError, match="mano-anira-o-smoke holds 2 runs: give one of them"):
        load_run(tmp_path / "mano-anira-o-smoke")


def test_a_run_is_loaded_at_its_last_step_or_at_one_that_is_kept(run):
    config, model, step = load_run(run, None)
    assert (config, step) == (CONFIG, 3)
    assert not model.training
    assert all((model.state_dict()[name] == value).all() for name, value in weights(run).items())
    assert load_run(run, 2)[2] == 2
    with pytest.raises(UserError, match=r"has no checkpoint of step 1; kept: \[2, 3\]"):
        load_run(run, 1)


def test_a_run_without_checkpoints_says_so(tmp_path):
    path = begin(tmp_path, CONFIG)
    with pytest.raises(UserError, match="has no checkpoint; kept: none"):
        load_run(path, None)


def test_the_newest_checkpoints_are_kept(tmp_path):
    for step in (2, 10, 9, 100):
        (tmp_path / f"step-{step}").mkdir()
    keep_last(tmp_path, 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-10", "step-100"]


class Seen(list):
    """A tracker that remembers."""

    log = list.append


def test_metrics_are_lines_of_json_for_the_file_and_the_trackers(tmp_path):
    seen = Seen()
    metrics = MetricsFile(tmp_path / "metrics.jsonl", [seen])
    assert metrics.state() == NO_METRICS
    metrics.write({"step": 1})
    state = metrics.state()
    metrics.write({"step": 2})
    metrics.rewind(state)
    metrics.write({"step": 3})
    assert (tmp_path / "metrics.jsonl").read_text() == '{"step": 1}\n{"step": 3}\n'
    assert seen == [{"step": 1}, {"step": 2}, {"step": 3}]


def test_a_run_that_cannot_go_on_keeps_its_metrics(tmp_path):
    metrics = MetricsFile(tmp_path / "metrics.jsonl", [])
    metrics.write({"step": 1})
    MetricsFile(tmp_path / "metrics.jsonl", []).rewind(NO_METRICS)
    assert (tmp_path / "metrics.jsonl").read_text() == '{"step": 1}\n'


def test_metrics_that_have_changed_before_the_checkpoint_are_refused(tmp_path, run):
    path = shutil.copytree(run, tmp_path / "run")
    lines = (path / "metrics.jsonl").read_bytes()
    (path / "metrics.jsonl").write_bytes(lines.replace(b"1", b"2", 1))
    with pytest.raises(UserError, match=r"metrics.jsonl is damaged: lines that were there before its checkpoint"):
        resume(path)


def test_finished_metrics_end_with_their_check_sum(run):
    *lines, last = (run / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    assert last == end_line(b"".join(lines), f"{run.parent.name}/{run.name}")


def test_metrics_that_are_lost_are_not_filled_with_nothing(tmp_path, run):
    path = shutil.copytree(run, tmp_path / "run")
    os.truncate(path / "metrics.jsonl", 10)
    with pytest.raises(UserError, match=r"metrics.jsonl has lost lines"):
        resume(path)
    (path / "metrics.jsonl").unlink()
    with pytest.raises(UserError, match=r"metrics.jsonl has lost lines"):
        resume(path)
