"""The house: which part of the package may import which, and what else each may load."""

import ast
import sys
from functools import cache
from pathlib import Path

import anira

ROOT = Path(anira.__file__).parent

_MODELS = {"config", "models"}
_EVALUATION = {*_MODELS, "tasks", "inference", "records"}
_STATISTICS = {"measure", "site"}
_PAPER = {*_EVALUATION, "text", *_STATISTICS, "evaluation", "training", "sweeps"}
ALLOWED = {
    "config": set(),
    "tasks": {"config"},
    "text": {"config"},
    "exchange": {"", "config", "tasks"},
    "models": {"config"},
    "inference": _MODELS,
    "records": {"config"},
    "evaluation": _EVALUATION,
    "training": {*_EVALUATION, "evaluation", "text"},
    "serving": {*_MODELS, "inference"},
    "testing": {*_MODELS, "tasks", "inference"},
    "measure": {"config", "records"},
    "site": {"config", "records", "measure"},
    "sweeps": {*_EVALUATION, "evaluation", "training"},
    "runs": {*_EVALUATION, "text", *_STATISTICS, "evaluation", "training"},
    "explore": {"config", "tasks", "models", "inference", "evaluation", "training", "site", "runs"},
    "paper": _PAPER,
    "cli": {"", *_PAPER, "exchange", "paper", "runs", "explore", "serving"},
    "": {"config", "tasks", "models", "runs"},
}
"""Part -> the other parts it may import; "" is the package's own __init__."""

STDLIB = set(sys.stdlib_module_names)
THIRD_PARTY = {"config": STDLIB, "tasks": STDLIB | {"numpy"}}
"""Parts with a bound on what they import from outside the package."""
FORBIDDEN = {part: {"torch", "transformers"} for part in ("records", "measure", "site")}


def part_of(module: str) -> str:
    """The part of the package that a dotted name inside it belongs to: anira.tasks.mano -> tasks."""
    first = module.split(".")[1] if "." in module else ""
    return first if (ROOT / first).is_dir() else ""


@cache
def imported(path: Path) -> set[str]:
    """The dotted names of all modules that a file imports, anywhere in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import; write the whole name"
            # `from anira import tasks` imports a part, `from anira import make_task` a name of the package
            names |= (
                {f"{node.module}.{alias.name}" for alias in node.names} if node.module == "anira" else {node.module}
            )
    return names


FILES = sorted(ROOT.rglob("*.py"))


def test_imports_follow_the_arrows():
    for path in FILES:
        inside = path.relative_to(ROOT).parts
        part = inside[0] if len(inside) > 1 else ""
        assert part in ALLOWED, f"{part} is no part of the house"
        ours = {name for name in imported(path) if name.split(".")[0] == "anira"}
        others = {part_of(name) for name in ours} - {part}
        assert others <= ALLOWED[part], f"{path}: {part} may not import {others - ALLOWED[part]}"


def test_the_package_works_without_the_benchmarks():
    """They are no part of the wheel: `anira bench` finds them in a checkout."""
    assert not [path for path in FILES if "benchmarks" in {name.partition(".")[0] for name in imported(path)}]


def test_light_parts_stay_light():
    for path in FILES:
        part = path.relative_to(ROOT).parts[0]
        outside = {name.split(".")[0] for name in imported(path)} - {"anira"}
        assert outside <= THIRD_PARTY.get(part, outside), path
        assert not outside & FORBIDDEN.get(part, set()), path


def test_arrows_go_one_way():
    """No part reaches itself: the allowed imports have an order."""
    done, left = set(), dict(ALLOWED)
    while left:
        free = {part for part, needs in left.items() if needs <= done}
        assert free, f"a circle among {sorted(left)}"
        done |= free
        left = {part: needs for part, needs in left.items() if part not in free}


def test_tasks_and_models_never_meet():
    assert "models" not in ALLOWED["tasks"]
    assert "tasks" not in ALLOWED["models"]
