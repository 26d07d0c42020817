"""`anira compare`, as somebody types it: from nothing, from what is there, and with a policy from outside."""

import sys

import pytest

from anira.measure import SCHEMA
from anira.models.policies import registry

TINY = [
    *("--task", "words", "--scale", "smoke", "--out", "made", "-n", "6"),
    *("--set", "steps=2", "eval_every=2", "checkpoint_every=2", "final_count=6", "eval_count=2"),
    *("model.max_depth=2", "task.min_letters=3", "task.max_letters=3"),
]
OUTSIDE = """
import torch
from anira.models import register_policy
from anira.models.policies import Fixed


@register_policy
class Shallow(Fixed):
    name = "shallow"

    def begin(self, h0, ctx):
        state = super().begin(h0, ctx)
        state.exit_depth = torch.ones_like(state.exit_depth)
        return state
"""


@pytest.mark.slow
def test_from_nothing_then_from_what_is_there(anira, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = anira("compare", "--policies", "anira-o,fixed", "--seeds", "2", *TINY)
    assert first.status == 0, first.err
    assert "to be trained in made/runs: 6 runs of words-anira-o-smoke, words-fixed-smoke (about " in first.err
    assert first.out.splitlines()[-1] == "made/policies-words.html"
    made = tmp_path / "made"
    assert {path.name for path in made.iterdir()} == {
        "policies-words.html",
        "policies-words.json",
        "policies-words.csv",
        "policies-words-seeds.csv",
        "runs",
    }
    assert (made / "policies-words.csv").read_text().splitlines()[0] == ",".join(SCHEMA)
    page = (made / "policies-words.html").read_text()
    assert len(page) < 1_200_000
    assert "anira-o" in page.split("<script")[0]
    lines = [line.split()[0] for line in first.out.splitlines() if line]
    assert {"anira-o", "fixed"} <= set(lines)

    files = {path: path.stat().st_mtime_ns for path in made.glob("runs/*/*/**/*") if path.is_file()}
    assert any("compare-n6-virtual" in str(path) for path in files)
    second = anira("compare", "--policies", "anira-o,fixed", "--seeds", "2", *TINY)
    assert (second.status, second.out) == (0, first.out)
    assert "to be trained" not in second.err
    assert files == {path: path.stat().st_mtime_ns for path in made.glob("runs/*/*/**/*") if path.is_file()}
    assert (made / "policies-words.html").read_text() == page


@pytest.mark.slow
def test_a_policy_from_outside_is_on_the_leaderboard(anira, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(registry, "_policies", {**registry._policies})
    (tmp_path / "shallow_policy.py").write_text(OUTSIDE)
    done = anira("compare", "--policies", "shallow", "--seeds", "1", "--plugin", "shallow_policy", *TINY)
    assert done.status == 0, done.err
    assert "shallow: Collapsed" in done.out
    assert (tmp_path / "made" / "policies-words.html").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--task", "wrds", "--policies", "fixed"], "unknown task 'wrds': did you mean 'words'?"),
        (["--task", "words", "--policies", "anira-x,fixed"], "unknown policy 'anira-x': did you mean 'anira-"),
        (["--task", "words", "--policies", "fixed", "--set", "steps"], "options are written as NAME=VALUE"),
        (
            ["--task", "words", "--policies", "fixed", "--set", "stepz=3"],
            "has no option 'stepz': did you mean 'steps'?",
        ),
        (["--task", "words", "--policies", "fixed", "--seeds", "0"], "must be at least 1"),
    ],
)
def test_mistakes_are_one_line_before_anything_starts(anira, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    done = anira("compare", *words, "--scale", "smoke")
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_long_training_wants_a_yes(anira, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = anira("compare", "--task", "words", "--policies", "anira-o,fixed", "--scale", "cpu")
    assert done.status == 2
    assert "to be trained in compared/cpu/runs: 18 runs" in done.err
    assert "say --yes" in done.err
    assert not list(tmp_path.iterdir())


def test_the_comparison_is_listed_among_the_experiments(anira, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "  policies " in anira("reproduce").out
    done = anira("reproduce", "policies", "--scale", "cpu")
    assert done.status == 2
    assert "words-z6-anira-o-cpu" in done.err
    assert "say --yes" in done.err
