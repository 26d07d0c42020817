"""The sweep of rules and thresholds, from tiny runs to files."""

import json

import polars as pl
import pytest
from tests.training_support import train_tiny

from anira.config import UserError
from anira.paper.pareto import make as pareto
from anira.paper.pareto.make import SIZES, Size, reproduce, rules
from anira.paper.setting import Setting

MANO = ("mano-anira-e", "mano-anira-o", "mano-fixed")
RULES = ["mode", "median", "mean", "quantile", "quantile"]


@pytest.fixture
def one_task(monkeypatch):
    monkeypatch.setattr(pareto, "RUNS", MANO)
    monkeypatch.setitem(SIZES, "smoke", Size(12, (0.25, 1.0)))


def train(name, out, changes):
    return train_tiny(out, name, steps=2)


def test_the_median_is_not_evaluated_twice():
    for size in SIZES.values():
        assert 0.5 not in size.thresholds
        assert len(set(rules(size))) == len(rules(size))


def test_every_point_is_decoded_again_and_only_once(tmp_path, one_task):
    told = []
    setting = Setting(scale="smoke", out=tmp_path, runs=tmp_path / "runs", train=train, tell=told.append)
    first = reproduce(setting)
    assert sum(": evaluating " in line for line in told) == 5 + 5 + 1
    table = pl.read_csv(tmp_path / "pareto.csv")
    assert table["select"].fill_null("").to_list() == [*RULES, *RULES, ""]
    assert table["instances"].unique().to_list() == [12 * 3]
    full = table.filter(pl.col("threshold") == 1)
    assert full["depth"].to_list() == full["answer_depth"].to_list() == [3, 3], "at threshold 1 all run to the end"
    assert table.filter(variant="fixed")["depth"].to_list() == [3]
    found = json.loads((tmp_path / "pareto.json").read_text())
    assert [run["preset"] for run in found["runs"]] == [f"{name}-smoke" for name in MANO]
    for path in (tmp_path / "runs").glob("*/*/checkpoints/*/model.safetensors"):
        path.unlink()
    before = (tmp_path / "pareto.csv").read_bytes()
    again = reproduce(setting)
    assert (tmp_path / "pareto.csv").read_bytes() == before
    assert [file.name for file in again.files] == ["pareto.json", "pareto.csv", "pareto.html"]
    assert again.text == first.text


def test_a_run_of_another_task_is_refused(tmp_path, one_task):
    def wrong(name, out, changes):
        return train_tiny(out, name.replace("mano", "brevo"), steps=2)

    with pytest.raises(UserError, match="is a run of task 'brevo', not of mano"):
        reproduce(Setting(scale="smoke", out=tmp_path, runs=tmp_path / "runs", train=wrong))
