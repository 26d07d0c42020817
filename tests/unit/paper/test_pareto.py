"""The sweep of rules and thresholds, from tiny runs to files."""

import json

import polars as pl
import pytest
from tests.measure_support import Planted, write_evaluation
from tests.training_support import train_tiny

from anira.config import UserError
from anira.paper.figures import FIGURES
from anira.paper.pareto.make import INSTANCES, THRESHOLDS, measured, reproduce, rules
from anira.paper.pareto.page import judge_trade, make_page
from anira.paper.setting import Setting
from anira.site import render
from anira.site.tables import page_text

MANO = ("mano-anira-e", "mano-anira-o", "mano-fixed")
RULES = ["mode", "median", "mean", "quantile", "quantile"]


@pytest.fixture
def one_task(monkeypatch):
    monkeypatch.setitem(FIGURES, "pareto", FIGURES["pareto"]._replace(runs=MANO))
    monkeypatch.setitem(INSTANCES, "smoke", 12)


def train(name, out, changes):
    return train_tiny(out, name, steps=2)


def test_the_median_is_not_evaluated_twice():
    for thresholds in THRESHOLDS.values():
        assert 0.5 not in thresholds
        assert len(set(rules(thresholds))) == len(rules(thresholds))


def test_every_point_is_decoded_again_and_only_once(tmp_path, one_task):
    told = []
    setting = Setting(scale="smoke", out=tmp_path, runs=tmp_path / "runs", train=train, tell=told.append)
    first = reproduce(setting)
    assert sum(": evaluating " in line for line in told) == 5 + 5 + 1
    rows = pl.read_csv(tmp_path / "pareto.csv")
    table = rows.filter(quantity="iterations")
    assert table["select"].fill_null("").to_list() == [*RULES, *RULES, ""]
    assert table["n"].unique().to_list() == [12 * 3]
    full = rows.filter(pl.col("threshold") == 1, pl.col("quantity").is_in(["iterations", "executed"]))
    assert full["value"].to_list() == [3] * 4, "at threshold 1 all run to the end"
    assert table.filter(variant="fixed")["value"].to_list() == [3]
    found = json.loads((tmp_path / "pareto.json").read_text())
    assert [run["preset"] for run in found["runs"]] == [f"{name}-smoke" for name in MANO]
    for path in (tmp_path / "runs").glob("*/*/checkpoints/*/model.safetensors"):
        path.unlink()
    before = (tmp_path / "pareto.csv").read_bytes()
    again = reproduce(setting)
    assert (tmp_path / "pareto.csv").read_bytes() == before
    assert [file.name for file in again.files] == ["pareto.json", "pareto.csv", "pareto-seeds.csv", "pareto.html"]
    assert again.text == first.text


def test_a_run_of_another_task_is_refused(tmp_path, one_task):
    def wrong(name, out, changes):
        return train_tiny(out, name.replace("mano", "brevo"), steps=2)

    with pytest.raises(UserError, match="is a run of task 'brevo', not of mano"):
        reproduce(Setting(scale="smoke", out=tmp_path, runs=tmp_path / "runs", train=wrong))


def found(root, required):
    """Three seeds: at the small threshold answers have depth 1, at full depth 4; right from the required depth on."""
    runs = []
    for seed in range(3):
        ways = {0.1: 1, 1.0: 4}
        planted = {
            level: Planted(own=lambda knob, number, depth=depth: depth, required=required, variant="anira-o", seed=seed)
            for level, depth in ways.items()
        }
        runs.append([write_evaluation(root / f"{seed}-{x}", one, threshold=x) for x, one in planted.items()])
    return measured(runs, draws=50)


def test_what_stopping_early_costs_is_judged_over_seeds(tmp_path):
    costly = found(tmp_path / "costly", lambda knob, number: 1 + number % 2)
    page = make_page(costly)
    assert page.badge.words == "supported: 1 of 1 setting supports it"
    assert page.answer[0] == "Stopping early costs accuracy in TOY ANIRA-O."
    assert page.answer[1].startswith("The smallest threshold, 0.1, saves 50% of the iterations")
    assert judge_trade(costly.runs)[0].verdict.reason == "0.500 [0.500, 0.500] over 3 seeds"
    free = found(tmp_path / "free", lambda knob, number: 1)
    page = make_page(free)
    assert page.badge.tone == "no"
    assert page.answer[0] == "Stopping early costs less than 2 points of accuracy in TOY ANIRA-O."
    assert "by cut 0.1" in render(page), "full depth is dominated, and its cell says by what"
    assert "TOY: every way to choose depth" in page_text(page)
