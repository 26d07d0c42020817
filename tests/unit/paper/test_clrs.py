"""Which sizes the figure of CLRS goes over, and from what it is made."""

import json
from dataclasses import replace

import pytest
from tests.training_support import train_tiny

from anira.config import UserError
from anira.paper.clrs.make import Size, evaluated_sizes, reproduce
from anira.paper.setting import Setting
from anira.tasks.clrs import Clrs, ClrsConfig

SIZE = Size(instances=8, beyond=1.5)


def part(name, **options):
    return Clrs(ClrsConfig(tasks=(name,), **options))


def test_sizes_are_the_seen_ones_those_between_and_some_beyond():
    assert evaluated_sizes(part("minimum", sizes=(3, 6)), SIZE, 500) == (3, 4, 5, 6, 7, 8, 9)
    assert evaluated_sizes(part("bridges"), SIZE, 500) == (4, 5, 6, 7)
    assert evaluated_sizes(part("minimum", sizes=(3,)), Size(8, 1.0), 500) == (3, 4), "at least one beyond"


def test_rows_beyond_what_the_model_is_built_for_are_not_asked():
    longest = part("minimum").rows(seed=0, stream="eval", start=0, count=8, knob=7).lengths.max()
    assert evaluated_sizes(part("minimum", sizes=(3, 6)), SIZE, int(longest)) == (3, 4, 5, 6, 7)


def test_a_size_that_is_a_label_only_is_asked_once():
    assert evaluated_sizes(part("segments_intersect"), SIZE, 500) == (4,)


def test_a_run_of_another_task_is_refused(tmp_path):
    path = train_tiny(tmp_path / "runs", "mano-anira-e-smoke", steps=2)
    for variant in ("anira-e", "anira-o"):
        (tmp_path / "runs" / f"clrs-{variant}-smoke").mkdir()
    path.rename(tmp_path / "runs" / "clrs-anira-e-smoke" / path.name)

    def train(name, out, changes):
        return train_tiny(out, name, steps=2, task_config={"tasks": ["minimum"], "sizes": [3]})

    with pytest.raises(UserError, match="is a run of task 'mano', not of clrs"):
        reproduce(Setting(scale="smoke", out=tmp_path, runs=tmp_path / "runs", train=train))


def test_records_and_baselines_are_made_once(tmp_path):
    task = {"tasks": ["minimum", "segments_intersect"], "sizes": [3, 4]}

    def train(name, out, changes):
        return train_tiny(out, name, steps=2, task_config=task)

    told = []
    setting = Setting(scale="smoke", out=tmp_path, runs=tmp_path / "runs", train=train, tell=told.append)
    first = reproduce(setting)
    assert sum(line.endswith(": baselines") for line in told) == 2
    for path in (tmp_path / "runs").glob("*/*/checkpoints/*/model.safetensors"):
        path.unlink()
    before, table = len(told), first.files[1].read_bytes()
    again = reproduce(setting)
    assert [line.split(": ")[1] for line in told[before:]] == [
        f"1 finished run in {tmp_path / 'runs' / run.preset}" for run in first.runs
    ]
    assert [path.name for path in again.files] == ["clrs.json", "clrs.csv", "clrs.html"]
    assert again.files[1].read_bytes() == table
    found = json.loads(again.files[0].read_text())
    assert (found["experiment"], found["scale"], len(found["runs"])) == ("clrs", "smoke", 2)
    cells = [(one["subtask"], one["size"], one["copy"]) for one in found["runs"][0]["baselines"]]
    assert cells == [("minimum", 3, None), ("minimum", 4, None), ("minimum", 5, None), ("segments_intersect", 3, None)]
    assert "segments_intersect" in again.text


def test_baselines_of_a_published_run_lie_beside_it(tmp_path):
    """Its records may be complete without them."""
    task = {"tasks": ["minimum"], "sizes": [3, 4]}

    def train(name, out, changes):
        return train_tiny(out, name, steps=2, task_config=task)

    reproduce(Setting(scale="smoke", out=tmp_path, runs=tmp_path / "results", train=train))
    for path in (tmp_path / "results").rglob("baselines.json"):
        path.unlink()
    published = sorted((tmp_path / "results").rglob("*"))
    where = Setting(
        scale="smoke", out=tmp_path, runs=tmp_path / "runs", published=(tmp_path / "results",), train=lambda *_: 1 / 0
    )
    reproduce(where)
    assert sorted((tmp_path / "results").rglob("*")) == published
    assert len(list((tmp_path / "runs").rglob("records/sizes-n16/baselines.json"))) == 2
    told = []
    reproduce(replace(where, tell=told.append))
    assert not any(line.endswith(": baselines") for line in told)
