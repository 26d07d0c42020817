"""What the commands that must start at once do not load."""

import json
import subprocess
import sys
from functools import cache

import pytest

PROGRAM = """
import contextlib, io, json, sys
from anira.cli import main
with contextlib.redirect_stdout(io.StringIO()):
    try:
        status = main(sys.argv[1:])
    except SystemExit as stop:
        status = stop.code or 0
assert status == 0, status
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


@cache
def loaded(words):
    done = subprocess.run([sys.executable, "-c", PROGRAM, *words.split()], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize("words", ["", "--help", "--version", "tasks", "tasks --json", "sample --help", "sample mano"])
def test_neither_torch_nor_transformers(words):
    modules = loaded(words)
    assert "anira" in modules
    assert not modules & {"torch", "transformers", "accelerate", "scipy", "matplotlib", "polars"}


@pytest.mark.parametrize("words", ["", "--help", "--version"])
def test_help_needs_no_parser(words):
    assert not loaded(words) & {"tyro", "rich"}


@pytest.mark.parametrize(
    "words",
    ["compare --help", "reproduce --help", "gsm-symbolic --help", "lm-eval --help", "explore --help", "serve --help"],
)
def test_help_of_commands_that_train_loads_no_torch(words):
    assert not loaded(words) & {"torch", "transformers", "altair", "polars"}


def test_importing_the_package_loads_nothing_heavy():
    program = "import json, sys, anira; dir(anira); print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not set(json.loads(done.stdout)) & {"torch", "transformers", "polars", "anira.runs"}
