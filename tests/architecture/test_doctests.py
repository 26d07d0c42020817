"""The examples in docstrings are true."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import anira

ROOT = Path(anira.__file__).parent


def module_name(path):
    return ".".join(["anira", *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__")


MODULES = [module_name(path) for path in sorted(ROOT.rglob("*.py")) if ">>>" in path.read_text()]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    result = doctest.testmod(import_module(name))
    assert result.attempted
    assert not result.failed
