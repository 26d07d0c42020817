"""The benchmark of the tasks: its figures fit together. How large they are is for a quiet machine to say."""

import json

import pytest

from anira.tasks.clrs.algorithms import SUBTASKS
from benchmarks import tasks as bench


@pytest.fixture
def result(anira):
    found = anira("bench", "tasks", "--json", "--rows", bench.BLOCK, "--repeats", 1)
    assert found.status == 0
    assert len(found.err.splitlines()) == len(bench.BARS) + 3  # two lines for CLRS, one for the start
    return json.loads(found.out)


@pytest.mark.slow
def test_figures_of_every_task_and_of_the_start(result):
    bars = {"mano": 10, "brevo": 5, "depo": 10, "words": 10, "wordmath": 10}
    assert {speed["task"]: speed["bar"] for speed in result["tasks"]} == bars
    for speed in result["tasks"]:
        assert speed["rows"] >= 4096
        ratio = speed["instances_per_second"] / speed["plain_instances_per_second"]
        assert speed["ratio"] == pytest.approx(ratio)
        assert speed["met"] == (speed["ratio"] >= speed["bar"])
        # Both generators draw from the same law, so their rows are equally long.
        lengths = [speed[f"{side}tokens_per_second"] / speed[f"{side}instances_per_second"] for side in ("", "plain_")]
        assert lengths[0] == pytest.approx(lengths[1], rel=0.1)
    assert [start["command"] for start in result["startup"]] == ["anira --help", "anira tasks"]
    for start in result["startup"]:
        assert start["met"] == (start["seconds"] <= start["aim"] == 0.5)
    assert {"cpu", "python", "numpy", "date"} <= result["machine"].keys()
    mixture, *subtasks = result["clrs"]
    assert (mixture["what"], mixture["size"], mixture["rows"], mixture["bar"]) == ("mixture", None, 4096, 4000)
    assert [speed["what"] for speed in subtasks] == list(SUBTASKS)
    assert {(speed["size"], speed["bar"]) for speed in subtasks} == {(32, 150)}
    for speed in result["clrs"]:
        assert speed["met"] == (speed["instances_per_second"] >= speed["bar"])


def test_medians_are_taken_over_the_repeats():
    assert bench._medians(((3.0, 10), (1.0, 30), (2.0, 20))) == (2.0, 20)


def test_the_table_says_what_is_met(anira, monkeypatch):
    speed = {"instances_per_second": 90.0, "tokens_per_second": 900.0, "plain_instances_per_second": 10.0}
    monkeypatch.setattr(
        bench,
        "bench",
        lambda rows, repeats, report: {
            "machine": bench.machine(),
            "repeats": repeats,
            "tasks": [{"task": "mano", **speed, "ratio": 9.0, "bar": 10.0, "met": False}],
            "clrs": [{"what": "mixture", "size": None, **speed, "bar": 4000.0, "met": False}],
            "startup": [{"command": "anira --help", "seconds": 0.2, "aim": 0.5, "met": True}],
        },
    )
    out = anira("bench", "tasks").out
    assert [line.split()[-2:] for line in out.splitlines() if line.startswith("mano")] == [["10", "NO"]]
    assert [line.split() for line in out.splitlines() if line.startswith("mixture")] == [
        ["mixture", "90", "900", "10", "4,000", "NO"]
    ]
    assert [line.split()[-2:] for line in out.splitlines() if line.startswith("anira")] == [["0.5", "yes"]]
