"""The examples in docstrings are true."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import anira

ROOT = Path(anira.__file__).parent


BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
DOCS = BENCHMARKS.with_name("docs")


def module_name(path, root):
    return ".".join(path.relative_to(root.parent).with_suffix("").parts).removesuffix(".__init__")


MODULES = [
    module_name(path, root)
    for root in (ROOT, BENCHMARKS, DOCS)
    for path in sorted(root.rglob("*.py"))
    if ">>>" in path.read_text()
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    result = doctest.testmod(import_module(name))
    assert result.attempted
    assert not result.failed
