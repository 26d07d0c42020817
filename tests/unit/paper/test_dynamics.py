"""From which runs the figures of training dynamics are made, and into which files."""

import json

import pytest
from tests.training_support import train_tiny

from anira.config import UserError
from anira.paper.dynamics.make import reproduce, used_runs
from anira.paper.setting import Setting


def no_training(name, out, changes):
    raise AssertionError("a finished run is there")


def setting(root, train=no_training):
    return Setting(scale="smoke", out=root / "out", runs=root / "runs", train=train)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The experiment without any run, one of MANO's warmed up aside; and what was trained for it."""
    root = tmp_path_factory.mktemp("dynamics")
    train_tiny(root / "runs", "mano-anira-e-smoke", gamma_warmup_steps=4, seed=1)
    trained = []

    def train(name, out, changes):
        trained.append((name, dict(changes)))
        return train_tiny(out, name, **changes)

    return root, reproduce(setting(root, train)), trained


def test_every_run_is_trained_and_shown_once(made):
    root, outcome, trained = made
    assert trained == [
        ("mano-anira-e-smoke", {"gamma_warmup_steps": 0}),
        ("mano-anira-o-smoke", {"gamma_warmup_steps": 0}),
        ("brevo-anira-e-smoke", {}),
        ("brevo-anira-o-smoke", {}),
    ]
    assert [run.preset for run in outcome.runs] == [name for name, _ in trained]
    assert [task for task, _ in used_runs(setting(root))] == ["mano", "mano", "brevo", "brevo"]


def test_all_files_are_made_and_say_what_is_missing(made):
    _, outcome, _ = made
    names = ["dynamics", "dynamics-order", "dynamics-phases", "dynamics-batches"]
    assert [path.name for path in outcome.files] == [
        "dynamics.json",
        *(f"{name}.csv" for name in names),
        "dynamics.html",
    ]
    found = json.loads(outcome.files[0].read_text())
    assert (found["experiment"], found["scale"], len(found["runs"])) == ("dynamics", "smoke", 4)
    assert found["runs"][0]["figures"]["phases"]["rise"]["reason"] == "too few logged batches: 4, and 18 are needed"
    assert set(outcome.claims) == {"easy-to-hard", "two-phases"}
    assert [len(claims) for claims in outcome.claims.values()] == [4, 4]
    assert "MANO, constant" in outcome.text


def test_records_during_training_give_intervals_to_depth(made):
    _, outcome, _ = made
    found = json.loads(outcome.files[0].read_text())
    curve = found["runs"][0]["figures"]["curve"]
    assert [point["step"] for point in curve[::3]] == [3, 6, 8]
    assert all(point["depth"]["low"] is not None for point in curve)


def test_a_run_with_a_warm_up_comes_after_those_without(made, monkeypatch):
    root, _, _ = made
    from anira.paper.dynamics import make as dynamics

    (warmed,) = [path for path in (root / "runs" / "mano-anira-e-smoke").iterdir() if path.name.endswith("-s1")]
    known = used_runs(setting(root))
    first = known[0][1]
    other = type(first)(preset=first.preset, folder=warmed, found=True, seconds=0.0, differs=())
    monkeypatch.setattr(dynamics, "used_runs", lambda setting: [("mano", other), *known])
    outcome = reproduce(setting(root))
    assert outcome.runs[-1].folder == warmed
    assert [claim.verdict.word for claim in outcome.claims["two-phases"]] == ["not testable"] * 5


def test_a_run_of_another_task_is_refused(made, tmp_path):
    root, _, _ = made
    for preset in ("mano-anira-o-smoke", "brevo-anira-e-smoke", "brevo-anira-o-smoke"):
        (tmp_path / "runs" / preset).mkdir(parents=True)
        (source,) = [path for path in (root / "runs" / preset).iterdir() if path.name.endswith("-s0")]
        (tmp_path / "runs" / preset / source.name).symlink_to(source)
    (tmp_path / "runs" / "mano-anira-e-smoke").mkdir()
    (brevo,) = (root / "runs" / "brevo-anira-e-smoke").iterdir()
    (tmp_path / "runs" / "mano-anira-e-smoke" / "zzzzzzzz-s5").symlink_to(brevo)
    with pytest.raises(UserError, match="is a run of task 'brevo', not of mano"):
        reproduce(setting(tmp_path))
