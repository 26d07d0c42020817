"""The tutorials, typed as they stand there: programs whole, commands at smoke scale with fewer steps."""

import re
import shlex
import sys
from pathlib import Path

import pytest
from tests.training_support import Child

from anira.models.policies import registry

ROOT = Path(__file__).parents[2]
TINY = [
    *("--scale", "smoke", "-n", "6", "--seeds", "1", "--set", "steps=2", "eval_every=2", "checkpoint_every=2"),
    *("final_count=6", "eval_count=2", "model.max_depth=2", "task.min_letters=3", "task.max_letters=3"),
]


def fences(name: str, language: str) -> list[str]:
    page = (ROOT / "docs" / "tutorials" / f"{name}.md").read_text()
    found = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return [text for kind, text in found if kind == language]


def blocks(name: str) -> list[str]:
    return fences(name, "python")


def commands(name: str) -> list[list[str]]:
    """Return the commands in the fences of a page, as words behind `anira`."""
    lines = [line for text in fences(name, "") for line in text.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("anira ")]


@pytest.mark.slow
def test_the_policy_of_the_first_tutorial_keeps_the_contract(tmp_path):
    policy, check = blocks("own-policy")
    (tmp_path / "steady.py").write_text(policy)
    first = "import sys; sys.path.insert(0, '')\nfrom anira.testing import policies as kit\nkit.SEEDS = (0,)\n"
    child = Child(tmp_path, "--version", first=first + check)
    assert child.status() == 0, child.err
    assert "policy 'steady': all 18 checks passed" in child.out


@pytest.mark.slow
def test_the_policy_of_the_first_tutorial_is_on_the_leaderboard(anira, tmp_path, monkeypatch):
    smoke, full = commands("own-policy")
    assert [word for word in smoke if word not in ("--scale", "smoke")] == full
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(registry, "_policies", {**registry._policies})
    (tmp_path / "steady.py").write_text(blocks("own-policy")[0])
    replaced = full.index("--seeds")
    done = anira(*full[:replaced], *full[replaced + 2 :], *TINY)
    assert done.status == 0, done.err
    assert any(line.startswith("steady ") for line in done.out.splitlines())
    assert done.out.splitlines()[-1] == "compared/smoke/policies-words.html"


def test_the_second_tutorial_finds_all_executions_equal(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile("\n".join(blocks("exact-decoding")), "exact-decoding", "exec"), {})
    out = capsys.readouterr().out
    for said in ("original: True", "cached and not: True", "all at once: True True"):
        assert said in out
    depths = {int(one) for one in re.findall(r"\d", out[out.index("tensor") : out.index("iterations")])}
    assert len(depths) > 1
    kept, held = re.search(r"slots (\d+) of \d+ - held by the cache: (\d+)", out).groups()
    assert kept == held


@pytest.mark.slow
def test_the_third_tutorial_finds_the_published_verdict(anira, tmp_path, monkeypatch, capsys):
    (tmp_path / "results").symlink_to(ROOT / "results")
    monkeypatch.chdir(tmp_path)
    ((*words,),) = commands("check-a-claim")
    done = anira(*words)
    assert done.status == 0, done.err
    assert "to be trained" not in done.err
    exec(compile("\n".join(blocks("check-a-claim")), "check-a-claim", "exec"), {})
    out = capsys.readouterr().out
    assert out.count("| supported |") == 4
    assert "shape: (24, 5)" in out
