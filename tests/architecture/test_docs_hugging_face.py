"""Every row of docs/hugging-face.md names tests, and they exist."""

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "hugging-face.md"


def rows():
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    return [line for line in lines if not line.startswith(("|---", "| feature"))]


def exists(name):
    file, _, function = name.partition("::")
    path = TESTS / file if "/" in file else TESTS / "integration" / file
    found = {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}
    return not function or function in found


def test_every_row_is_held_by_a_test_that_exists():
    assert len(rows()) > 30
    for row in rows():
        names = re.findall(r"`([\w/]+\.py(?:::\w+)?)`", row.rsplit("|", 2)[1])
        assert names, row
        assert all(map(exists, names)), row
