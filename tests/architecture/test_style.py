"""Rules of size and style that the linter does not know. (Prints and docstrings are ruff's: T20 and D1.)"""

import ast
from functools import cache
from pathlib import Path

import pytest

import anira

ROOT = Path(anira.__file__).parent
TESTS = Path(__file__).parents[1]
BENCHMARKS = TESTS.with_name("benchmarks")
FILES = sorted([*ROOT.rglob("*.py"), *BENCHMARKS.rglob("*.py")])
EVERY_FILE = [*FILES, *sorted(TESTS.rglob("*.py"))]

LONGEST_FILE, LONGEST_FUNCTION = 400, 80
# What may be taken from the two modules that also have a global random state.
RANDOM = {"Random"}
NUMPY_RANDOM = {"Generator", "default_rng", "SeedSequence", "BitGenerator", "PCG64", "Philox"}


@cache
def tree(path):
    return ast.parse(path.read_text())


def functions(path):
    return [node for node in ast.walk(tree(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def lines(function):
    return function.end_lineno - function.lineno + 1


def test_files_and_functions_are_short():
    long = [path for path in FILES if len(path.read_text().splitlines()) > LONGEST_FILE]
    long += [
        (path, function.name) for path in FILES for function in functions(path) if lines(function) > LONGEST_FUNCTION
    ]
    assert not long


def test_half_of_the_functions_are_very_short():
    sizes = sorted(lines(function) for path in FILES for function in functions(path))
    assert sizes[len(sizes) // 2] <= 12
    assert sizes[len(sizes) * 9 // 10] <= 45


def test_source_is_ascii():
    assert not [path for path in EVERY_FILE if not path.read_bytes().isascii()]


def draws_globally(node):
    """Say whether a piece of syntax takes something from a module that may have a global random state."""
    if isinstance(node, ast.Attribute):
        owner = ast.unparse(node.value)
        in_numpy = owner in ("np.random", "numpy.random")
        return (owner == "random" and node.attr not in RANDOM) or (in_numpy and node.attr not in NUMPY_RANDOM)
    from_random = isinstance(node, ast.ImportFrom) and node.module in ("random", "numpy.random")
    return from_random and not {alias.name for alias in node.names} <= RANDOM | NUMPY_RANDOM


@pytest.mark.parametrize("program", ["random.random()", "np.random.rand(3)", "from random import choice"])
def test_a_draw_from_a_global_random_state_is_seen(program):
    assert any(map(draws_globally, ast.walk(ast.parse(program))))


def test_nothing_draws_from_a_global_random_state():
    drawn = [(path, ast.unparse(node)) for path in FILES for node in ast.walk(tree(path)) if draws_globally(node)]
    assert not drawn


def test_json_is_written_by_one_function():
    """`json_text` knows no NaN. What else is there does not write: a check-sum, a check, a child for its parent."""
    writing = {"/".join(path.parts[-2:]) for path in FILES if "json.dump" in path.read_text()}
    assert writing <= {"config/strict.py", "config/sealed.py", "exchange/table_child.py", "benchmarks/train_child.py"}


def test_names_of_files_say_what_is_in_them():
    assert not {path.stem for path in FILES} & {"utils", "util", "helpers", "misc", "common"}
