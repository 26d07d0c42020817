import json
import shutil

import pytest
from tests.report_support import FakeRun, write_run
from tests.sealing_support import seal_run
from tests.unit.measure.records_support import Plan, write_subtasks

from anira.config import UserError
from anira.site.report.runs import load_runs


def labels(root, *runs):
    return [run.label for run in load_runs([write_run(root / str(i), run) for i, run in enumerate(runs)])]


def test_a_run_knows_what_its_folder_says(folders):
    (run,) = load_runs([folders["rising"]])
    assert (run.task, run.label, run.experiment, run.max_depth) == ("mano", "anira-o", "anira-o", 4)
    assert run.name == "mano-anira-o-cpu/0123abcd-s0"
    assert run.evaluation.folder.name == "final"
    assert {line["kind"] for line in run.metrics} == {"train", "eval"}
    assert run.run_id == run.evaluation.asked["run_id"]


def test_seeds_of_one_experiment_have_labels_of_their_own(tmp_path):
    assert labels(tmp_path, FakeRun(seed=0), FakeRun(seed=1), FakeRun(variant="fixed")) == [
        "anira-o, seed 0",
        "anira-o, seed 1",
        "fixed",
    ]


def test_runs_that_no_setting_tells_apart_are_told_apart_by_their_folders(tmp_path):
    one = write_run(tmp_path, FakeRun())
    other = one.with_name("89abcdef-s0")
    shutil.copytree(one, other)
    assert {run.label for run in load_runs([one, other])} == {
        "anira-o, seed 0 (0123abcd-s0)",
        "anira-o, seed 0 (89abcdef-s0)",
    }


def test_tasks_keep_their_runs_together(folders):
    order = [folders[name] for name in ("rising", "falling", "flat")]
    assert [run.task for run in load_runs(order)] == ["mano", "mano", "brevo"]


def test_an_evaluation_can_be_named(tmp_path):
    folder = write_run(tmp_path, FakeRun())
    shutil.copytree(folder / "records" / "final", folder / "records" / "early")
    assert load_runs([folder], "early")[0].evaluation.folder.name == "early"
    with pytest.raises(UserError, match="did you mean 'early'"):
        load_runs([folder], "erly")


def test_a_last_line_of_metrics_that_was_cut_short_is_left_out(tmp_path):
    folder = write_run(tmp_path, FakeRun(), complete=False)
    path = folder / "metrics.jsonl"
    whole = load_runs([folder])[0].metrics
    path.write_text(path.read_text() + '{"kind": "tra')
    assert load_runs([folder])[0].metrics == whole
    path.write_text('{"kind": "tra\n' + path.read_text())
    with pytest.raises(UserError, match=r"metrics\.jsonl"):
        load_runs([folder])


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data.replace(b"0.", b"1.", 1)])
def test_the_metrics_of_a_finished_run_must_be_whole(tmp_path, damage):
    folder = write_run(tmp_path, FakeRun())
    path = folder / "metrics.jsonl"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(UserError, match=r"metrics\.jsonl is damaged"):
        load_runs([folder])


@pytest.mark.parametrize("line", ['{"kind": "train", "loss": NaN}', '{"kind": "train", "step": "4"}', "3", '{"a": 1}'])
def test_a_line_that_no_run_writes_is_refused(tmp_path, line):
    folder = write_run(tmp_path, FakeRun(), complete=False)
    path = folder / "metrics.jsonl"
    path.write_text(f"{line}\n{path.read_text()}")
    with pytest.raises(UserError, match=r"cannot read .*metrics\.jsonl"):
        load_runs([folder])


def test_a_run_without_metrics_can_be_read(tmp_path):
    folder = write_run(tmp_path, FakeRun())
    (folder / "metrics.jsonl").unlink()
    assert load_runs([folder])[0].metrics == ()


@pytest.mark.parametrize("content", [None, "", "[]", "{}", '{"config": {"task": "mano"}}', '{"config": 3}'])
def test_a_folder_that_is_no_run_is_refused_by_name(tmp_path, content):
    folder = write_run(tmp_path, FakeRun())
    if content is None:
        (folder / "config.json").unlink()
    else:
        (folder / "config.json").write_text(content)
    with pytest.raises(UserError, match=f"{folder.name} is not a run"):
        load_runs([folder])


def test_an_evaluation_folder_is_answered_with_what_to_type(folders):
    with pytest.raises(UserError, match="--evaluation final"):
        load_runs([folders["rising"] / "records" / "final"])


def test_a_run_given_twice_is_refused(folders):
    folder = folders["rising"]
    with pytest.raises(UserError, match="twice"):
        load_runs([folder, folder / ".." / folder.name])


def test_one_of_several_subtasks(tmp_path):
    """The page is about one of them, with what training logged of it."""
    folder = write_run(tmp_path, FakeRun())
    shutil.rmtree(folder / "records")
    knobs = {"sort": Plan(n=20), "bfs": Plan(n=20, draw=1)}
    write_subtasks(folder / "records" / "final", knobs)
    lines = [{"kind": "train", "step": 1}, *({"kind": "eval", "step": 1, "subtask": name} for name in knobs)]
    (folder / "metrics.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (run,) = load_runs([seal_run(folder)], subtask="bfs")
    assert run.evaluation.subtask == "bfs"
    assert [line.get("subtask") for line in run.metrics] == [None, "bfs"]
    with pytest.raises(UserError, match="choose one with --subtask"):
        load_runs([folder])
