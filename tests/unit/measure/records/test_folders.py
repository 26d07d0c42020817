import pytest
from tests.sealing_support import seal_evaluation
from tests.unit.measure.records_support import Plan, write_run

from anira.config import UserError
from anira.measure.records.folders import choose_evaluation, find_evaluations
from anira.measure.records.stored import run_config


def add(run, name, *, step, complete=True, override=""):
    folder = run / "records" / name
    folder.mkdir(parents=True)
    seal_evaluation(folder, {"step": step, "complete": complete, "override": override, "records_version": 1})


@pytest.fixture
def run(tmp_path):
    return tmp_path / "1f2e3d4c-s0"


def names(run):
    return [folder.name for folder in find_evaluations(run)]


def test_a_folder_of_runs_is_said_to_be_one(tmp_path):
    for name in ("1f2e3d4c-s0", "5a6b7c8d-s1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
    with pytest.raises(UserError, match=rf"holds 2 runs: give one of them, or {tmp_path}/\*"):
        choose_evaluation(tmp_path)
    with pytest.raises(UserError, match="has no evaluation under records/"):
        choose_evaluation(tmp_path / "1f2e3d4c-s0")


def test_the_latest_step_is_the_result(run):
    for name, step in (("step-000900", 900), ("step-001000", 1000), ("step-000100", 100)):
        add(run, name, step=step)
    assert names(run) == ["step-000100", "step-000900", "step-001000"]
    assert choose_evaluation(run).name == "step-001000"


def test_final_is_preferred_at_the_same_step_only(run):
    add(run, "step-001000", step=1000)
    add(run, "final", step=1000)
    assert choose_evaluation(run).name == "final"
    add(run, "step-002000", step=2000)
    assert choose_evaluation(run).name == "step-002000"


def test_an_incomplete_evaluation_comes_last_in_line(run):
    add(run, "final", step=1000, complete=False)
    assert choose_evaluation(run).name == "final"
    add(run, "step-000100", step=100)
    assert choose_evaluation(run).name == "step-000100"


def test_overridden_depths_are_not_the_result_of_a_run(run):
    add(run, "permuted", step=1000, override="permuted")
    add(run, "step-000500", step=500)
    assert choose_evaluation(run).name == "step-000500"
    assert choose_evaluation(run, "permuted").name == "permuted"


def test_an_evaluation_folder_stands_for_itself(run):
    add(run, "final", step=1000)
    assert choose_evaluation(run / "records" / "final") == run / "records" / "final"
    with pytest.raises(UserError, match="leave out --evaluation"):
        choose_evaluation(run / "records" / "final", "final")


def test_mistakes_say_what_to_change(run, tmp_path):
    with pytest.raises(UserError, match="is no folder"):
        choose_evaluation(run)
    with pytest.raises(UserError, match="run anira evaluate"):
        choose_evaluation(tmp_path)
    add(run, "final", step=1000)
    with pytest.raises(UserError, match="did you mean 'final'"):
        choose_evaluation(run, "finl")


def test_the_configuration_of_the_run_is_found_from_the_evaluation(tmp_path):
    run = write_run(tmp_path / "run", Plan(n=10, seed=7))
    assert run_config(run / "records" / "final")["seed"] == 7
    (run / "config.json").unlink()
    assert run_config(run / "records" / "final") == {}


@pytest.mark.parametrize("text", ["{", "[]"])
def test_a_broken_configuration_is_named(tmp_path, text):
    run = write_run(tmp_path / "run", Plan(n=10))
    (run / "config.json").write_text(text)
    with pytest.raises(UserError, match=r"cannot read .*config\.json"):
        run_config(run / "records" / "final")
