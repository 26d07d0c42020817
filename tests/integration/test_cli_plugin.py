"""A task from outside the package, through the command line: the one of docs/add-a-task.md, as it stands there."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

DOC = (Path(__file__).parents[2] / "docs" / "add-a-task.md").read_text()
TASK, TESTS = re.findall(r"^```python\n(.*?)^```", DOC, re.MULTILINE | re.DOTALL)
COMMANDS = [line.strip().removeprefix("$ anira ") for line in DOC.splitlines() if line.strip().startswith("$ anira ")]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "parity.py").write_text(TASK)
    return tmp_path


def test_it_is_listed_beside_ours(anira_child, folder):
    result = anira_child("tasks", "--plugin", "parity")
    assert result.status == 0
    assert {"mano", "brevo", "depo", "parity"} <= {line.split()[0] for line in result.out.splitlines() if line}
    assert "parity" not in anira_child("tasks").out


def test_it_is_sampled_with_its_own_options(anira_child, folder):
    words = ["sample", "parity", "-n", "30", "--min-bits", "3", "--max-bits", "4", "--json", "--plugin", "parity"]
    rows = [json.loads(line) for line in anira_child(*words).out.splitlines()]
    assert {row["knob"] for row in rows} == {3, 4}
    for row in rows:
        assert int(row["answer"]) == row["question"].split().count("1") % 2


def test_it_is_exported(anira_child, folder):
    words = ["--split", "eval", "-n", "50", "--knob", "12", "--probes", "--out", "rows.parquet", "--plugin", "parity"]
    assert anira_child("export", "parity", *words).status == 0
    rows = pl.read_parquet(folder / "rows.parquet")
    assert rows.height == 50
    assert set(rows["knob"]) == {12}
    assert set(rows["split"]) == {"extrapolation"}
    for probe, answer in zip(rows["probe_prefix_parity"], rows["answer"], strict=True):
        assert probe[12] == int(answer)


def test_its_errors_are_one_line(anira_child, folder):
    result = anira_child("sample", "parity", "--plugin", "parity", "--max-bits", "99")
    assert result == (2, "", "anira: bits must satisfy 1 <= min <= max <= 64, not 2, 99\n")


def test_the_commands_of_the_page_work(anira_child, folder):
    assert len(COMMANDS) >= 4
    for command in COMMANDS:
        result = anira_child(*shlex.split(command))
        assert result.status == 0, result.err


def test_the_tests_of_the_page_pass(folder):
    (folder / "test_parity.py").write_text(TESTS)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", "--rootdir", "."],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert re.search(r"\b8 passed", done.stdout)
