"""Measured and counted costs, from tiny runs to files. How large the times are is for a quiet machine to say."""

import json
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from tests.training_support import train_tiny

from anira.config import UserError
from anira.paper.cost import make as cost
from anira.paper.cost.make import SIZES, Size, forced_depths, parameters, reproduce, rows_of_one_length
from anira.paper.setting import Setting
from anira.tasks import make_task
from anira.tasks.brevo import BrevoConfig


@pytest.fixture
def one_task(monkeypatch):
    monkeypatch.setattr(cost, "TASKS", ("mano",))
    monkeypatch.setitem(SIZES, "smoke", Size({1: 1, 3: 3}, 2))


def train(name, out, changes):
    return train_tiny(out, name, steps=2)


def test_files_from_tiny_runs(tmp_path, one_task):
    outcome = reproduce(Setting(scale="smoke", out=tmp_path, runs=tmp_path / "runs", train=train))
    assert [file.name for file in outcome.files] == ["cost.json", "cost.csv", "cost-flops.csv", "cost.html"]
    table = pl.read_csv(tmp_path / "cost.csv")
    assert table.group_by("label", "batch").len()["len"].to_list() == [1 + 3] * 4
    full = table.filter(way="forced", depth=3.0)
    assert full["time"].to_list() == full["core_bytes"].to_list() == [1.0] * 4
    own = table.filter(way="own")
    assert own["core_bytes"].is_between(own["expected"], own["expected_with_exit"] + 1e-9).all(), (
        "d/D, and at most 1/D more"
    )
    assert (table["milliseconds_a_token"] > 0).all()
    assert table.drop_nulls("deciding_time").select("batch", "way").rows() == [(1, "own")] * 2
    found = json.loads((tmp_path / "cost.json").read_text())
    assert {"cpu", "torch", "threads"} <= found["machine"].keys()
    batched = [part["deciding"] for one in found["runs"] for part in one["measured"] if part["batch"] > 1]
    assert batched == [{"value": None, "low": None, "high": None, "reason": cost.BATCHED}] * 2
    assert [one["preset"] for one in found["runs"]] == ["mano-anira-e-smoke", "mano-anira-o-smoke"]
    flops = pl.read_csv(tmp_path / "cost-flops.csv")
    assert (flops["execution"] <= flops["full_execution"]).all()
    assert (flops["decision"] > 0).all()


def test_rows_have_one_length_and_no_padding():
    task = make_task("brevo", BrevoConfig(min_nodes=3, max_nodes=6))
    ids = rows_of_one_length(task, 8).numpy()
    assert len(ids) == 8
    assert not np.any(ids == task.vocab.id("<pad>"))


def test_a_task_without_equal_lengths_is_refused():
    rows = SimpleNamespace(lengths=np.arange(3, 515), input_ids=np.zeros((512, 515)))
    task = SimpleNamespace(name="ragged", knob=SimpleNamespace(seen=(1,)), rows=lambda **_: rows)
    with pytest.raises(UserError, match="'ragged' has too few rows of one length: 1 of 2"):
        rows_of_one_length(task, 2)


def test_depths_to_compare_with():
    assert forced_depths(1) == [1]
    assert forced_depths(6) == [1, 2, 3, 4, 5, 6]
    assert (forced_depths(14)[0], forced_depths(14)[-1], len(forced_depths(14))) == (1, 14, 6)


def test_the_share_of_the_paper():
    assert round(parameters("brevo-anira-o-paper").share, 2) == 0.08


def test_a_run_of_another_task_is_refused(tmp_path, one_task):
    def wrong(name, out, changes):
        return train_tiny(out, name.replace("mano", "brevo"), steps=2)

    with pytest.raises(UserError, match="is a run of task 'brevo', not of mano"):
        reproduce(Setting(scale="smoke", out=tmp_path, runs=tmp_path / "runs", train=wrong))
