"""The example of docs/explore.md: its numbers are those of the committed run."""

import re
from pathlib import Path

import pytest

from anira.explore import Choice, Explorer, RowAddress, load_runs

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/explore.md").read_text()


@pytest.fixture(scope="module")
def explorer():
    (run, question) = re.findall(r'^anira explore (\S+) --question "(.*)"$', TEXT, flags=re.MULTILINE)[0]
    return Explorer(load_runs([ROOT / run])), question


def test_the_example_says_what_the_run_does(explorer):
    explored, question = explorer
    row = explored.pick(RowAddress(subtask="", knob=3, row=16))
    assert row["question"].startswith(question)
    view = explored.read(0, question, Choice())
    assert (view["predicted"], view["right"], view["mean_depth"]) == ("1", True, 2.33)
    early = explored.read(0, question, Choice(select="quantile", threshold=0.05))
    assert (early["predicted"], early["right"], early["mean_depth"]) == ("4", False, 1.33)
    assert early["tokens"][-1]["depth"] == 4
    last = view["tokens"][-1]
    shown = [
        f"| {i} | {q:.2f} | {guesses[0][0]} |"
        for i, (q, guesses) in enumerate(zip(last["probs"], last["after"], strict=True), 1)
    ]
    assert "\n".join(shown) in TEXT
    assert all(number in TEXT for number in ("2.33 of 4", "1.33 iterations"))


def test_both_runs_of_the_first_command_load():
    (runs,) = re.findall(r"^anira explore ([^-\n]\S* \S+)$", TEXT, flags=re.MULTILINE)
    assert len(load_runs([ROOT / place for place in runs.split()])) == 2
