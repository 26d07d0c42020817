"""How a run stands, from its folder."""

import shutil

import pytest
from tests.training_support import begin, metrics, tiny_config, train_tiny

from anira.config import UserError
from anira.training import RunFolder
from anira.training.status import find_runs, last_step, run_status


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return train_tiny(tmp_path_factory.mktemp("runs"), log_every=1)


@pytest.fixture
def half(finished, tmp_path):
    """A run that was killed in its sixth step, while it wrote a line."""
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    shutil.rmtree(run / "checkpoints" / "step-8")
    shutil.rmtree(run / "records" / "final")
    lines = (finished / "metrics.jsonl").read_text().splitlines(keepends=True)
    cut = next(i for i, line in enumerate(lines) if '"step": 6' in line)
    (run / "metrics.jsonl").write_text("".join(lines[: cut + 1]) + lines[cut + 1][:20])
    return run


def test_nothing_has_not_begun(tmp_path):
    assert run_status(tmp_path / "nothing").state == "not begun"
    assert run_status(begin(tmp_path, tiny_config())).state == "not begun"


def test_a_finished_run_has_the_figures_of_its_last_evaluation(finished):
    status = run_status(finished)
    last = [line for line in metrics(finished, "eval") if line["step"] == 8]
    assert (status.state, status.step) == ("finished", 8)
    assert status.accuracy == pytest.approx(sum(line["accuracy"] for line in last) / len(last))
    assert status.depth == pytest.approx(sum(line["depth_answer"] for line in last) / len(last))


def test_a_run_that_was_killed_is_stopped_and_knows_what_is_left(half):
    status = run_status(half)
    assert (status.state, status.step, last_step(half)) == ("stopped", 6, 6)
    assert status.remaining(8) == pytest.approx(2 * status.seconds)


def test_a_run_that_is_being_trained_is_running_and_looking_is_harmless(half):
    with RunFolder(half):
        assert run_status(half).state == "running"
    assert run_status(half).state == "stopped"


def test_runs_are_found_from_every_level_and_damaged_ones_say_why(tmp_path):
    one = begin(tmp_path, tiny_config())
    bad = begin(tmp_path, tiny_config(seed=1))
    (bad / "config.json").write_text("{}")
    for place in (tmp_path, one.parent):
        found = dict(find_runs(place))
        assert set(found) == {one, bad}
        assert found[one] == tiny_config()
        assert isinstance(found[bad], UserError)
    assert dict(find_runs(one)) == {one: tiny_config()}
    assert find_runs(tmp_path / "nothing") == []
