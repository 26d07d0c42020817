"""Rules of size and style that the linter does not know, or must not be told to forget."""

import ast
from pathlib import Path

import pytest

import anira

ROOT = Path(anira.__file__).parent
TESTS = Path(__file__).parents[1]
FILES = sorted(ROOT.rglob("*.py"))
IDS = [str(path.relative_to(ROOT)) for path in FILES]
EVERY_FILE = [*FILES, *sorted(TESTS.rglob("*.py"))]

LONGEST_FILE, LONGEST_FUNCTION = 400, 80
# What may be taken from the two modules that also have a global random state.
RANDOM = {"Random"}
NUMPY_RANDOM = {"Generator", "default_rng", "SeedSequence", "BitGenerator", "PCG64", "Philox"}


def tree(path):
    return ast.parse(path.read_text())


def functions(path):
    return [node for node in ast.walk(tree(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def lines(function):
    return function.end_lineno - function.lineno + 1


@pytest.mark.parametrize("path", FILES, ids=IDS)
def test_files_and_functions_are_short(path):
    assert len(path.read_text().splitlines()) <= LONGEST_FILE
    long = {function.name: lines(function) for function in functions(path) if lines(function) > LONGEST_FUNCTION}
    assert not long


def test_half_of_the_functions_are_very_short():
    sizes = sorted(lines(function) for path in FILES for function in functions(path))
    assert sizes[len(sizes) // 2] <= 12
    assert sizes[len(sizes) * 9 // 10] <= 45


@pytest.mark.parametrize("path", EVERY_FILE, ids=[str(path.name) for path in EVERY_FILE])
def test_source_is_ascii(path):
    assert path.read_bytes().isascii()


@pytest.mark.parametrize("path", [path for path in FILES if path.relative_to(ROOT).parts[0] != "cli"])
def test_only_the_command_line_prints(path):
    calls = [node.func for node in ast.walk(tree(path)) if isinstance(node, ast.Call)]
    assert "print" not in {call.id for call in calls if isinstance(call, ast.Name)}


@pytest.mark.parametrize("path", FILES, ids=IDS)
def test_nothing_draws_from_a_global_random_state(path):
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Attribute):
            owner = ast.unparse(node.value)
            assert owner != "random" or node.attr in RANDOM, ast.unparse(node)
            assert owner not in ("np.random", "numpy.random") or node.attr in NUMPY_RANDOM, ast.unparse(node)
        if isinstance(node, ast.ImportFrom) and node.module in ("random", "numpy.random"):
            assert {alias.name for alias in node.names} <= RANDOM | NUMPY_RANDOM


@pytest.mark.parametrize("path", FILES, ids=IDS)
def test_public_functions_and_classes_have_docstrings(path):
    if path.name != "__main__.py":
        assert ast.get_docstring(tree(path)), "the module has no docstring"
    for node in tree(path).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            assert ast.get_docstring(node), node.name


@pytest.mark.parametrize("path", FILES, ids=IDS)
def test_names_of_files_say_what_is_in_them(path):
    assert path.stem not in {"utils", "util", "helpers", "misc", "common"}
