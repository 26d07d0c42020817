"""The figure of compute allocation, from tiny runs to its files, and from planted records to its verdicts."""

import json

import polars as pl
import pytest
from tests.measure_support import Planted, write_run
from tests.training_support import train_tiny

from anira.config import UserError
from anira.measure.claims.alignment import judge_less_depth, obstacle
from anira.paper.allocation import make as allocation
from anira.paper.allocation.make import measured
from anira.paper.allocation.page import answer, make_page
from anira.paper.setting import Setting
from anira.site import render
from anira.site.tables import page_text
from anira.site.verdicts import claims_badge


def train(name, out, changes):
    return train_tiny(out, name, steps=2, eval_every=2, **changes)


def setting(root):
    return Setting(scale="smoke", out=root, runs=root / "runs", train=train)


def test_all_tasks_and_variants_come_to_one_page(tmp_path):
    outcome = allocation.reproduce(setting(tmp_path))
    names = [f"{task}-{variant}-smoke" for task in ("mano", "brevo", "depo") for variant in ("anira-e", "anira-o")]
    assert [run.preset for run in outcome.runs] == names
    assert {path.name for path in outcome.files} == {
        "allocation.json",
        "allocation.csv",
        "allocation-seeds.csv",
        "allocation.html",
    }
    assert [len(outcome.claims[key]) for key in ("follows-complexity", "o-less-depth")] == [6, 3]
    found = json.loads((tmp_path / "allocation.json").read_text())
    assert [run["preset"] for run in found["runs"]] == names
    assert {key: len(claims) for key, claims in found["claims"].items()} == {"follows-complexity": 6, "o-less-depth": 3}
    table = pl.read_csv(tmp_path / "allocation.csv")
    assert set(table["task"]) == {"mano", "brevo", "depo"}
    assert {"need", "slope", "oracle_depth", "forced_accuracy", "r2_position"} <= set(table["quantity"])
    assert "These are smoke runs" in outcome.text
    page = (tmp_path / "allocation.html").read_text()
    assert all(
        text in page for text in ("How to read this page", "anira reproduce allocation --scale smoke", "Figure 2")
    )

    path = next((tmp_path / "runs" / "mano-anira-e-smoke").iterdir())
    path.rename(tmp_path / "runs" / "depo-anira-o-smoke" / path.name)
    with pytest.raises(UserError, match="is a run of task 'mano', not of depo"):
        allocation.reproduce(setting(tmp_path))


def required(knob, number):
    return knob


def planted(root, own, *, seeds=3, needed=required):
    """Runs of both variants; those of ANIRA-O have the depths `own`, those of ANIRA-E always 3."""
    for seed in range(seeds):
        for variant, depth in (("anira-e", lambda knob, number: 3), ("anira-o", own(seed))):
            write_run(root, Planted(own=depth, required=needed, variant=variant, seed=seed))
    return measured(sorted(root.glob("*/*")), {"toy": "K: a <number>"}, draws=50)


def rising(seed):
    return lambda knob, number: min(4, knob + (number + seed) % 7 // 6)


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    return planted(tmp_path_factory.mktemp("three"), rising)


def test_where_depth_is_needed_a_rising_depth_supports_the_claim(three):
    words = {claim.experiment: claim.verdict.word for claim in three.claims["follows-complexity"]}
    assert words == {"toy anira-e": "not testable", "toy anira-o": "supported"}, "a constant depth has no slope"
    assert claims_badge(three.claims["follows-complexity"]).words == "supported: 1 of 1 setting supports it"
    assert answer(three)[0] == "Depth rises with difficulty, where depth is needed, in TOY ANIRA-O."


def test_without_need_a_rising_depth_shows_nothing(tmp_path):
    found = planted(tmp_path, rising, needed=lambda knob, number: 1)
    (claim,) = [claim for claim in found.claims["follows-complexity"] if claim.experiment == "toy anira-o"]
    assert claim.verdict.word == "not testable"
    assert claim.verdict.reason == "depth is not needed: depth 1 loses 0 points at the hardest knob"


def test_two_seeds_give_no_verdict(tmp_path):
    found = planted(tmp_path, rising, seeds=2)
    assert found.claims["follows-complexity"][-1].verdict.reason == "2 seeds, and 3 are needed"


def test_the_page_says_all_and_is_escaped(three):
    page = make_page(three)
    html = render(page)
    assert "K: a \\u003cnumber>" in html
    for part in ("TOY in numbers", "does depth only count positions?", "Forced depth"):
        assert part in html
    assert "TOY: does depth follow the knob?" in page_text(page)


def test_a_run_that_is_no_better_than_the_commonest_answer_is_left_out(three):
    run = three.runs.filter(variant="anira-o", seed=0)
    assert obstacle(run) == ""
    weak = run.with_columns(pl.when(pl.col("quantity") == "accuracy").then(0.0).otherwise(pl.col("low")).alias("low"))
    assert obstacle(weak) == "accuracy is not above the majority baseline"
    off = run.with_columns(null_low=0.1, null_high=0.2)
    assert obstacle(off) == "a null does not cover zero"
    unknown = run.filter(pl.col("quantity") != "need")
    assert obstacle(unknown) == "whether depth is needed is unknown: no forced depths were evaluated"


def with_expected(table):
    """Planted records have no distribution over depths: give each run one that is its depth."""
    rows = table.filter(quantity="depth", subset="answer").with_columns(quantity=pl.lit("expected_depth"))
    return pl.concat([table.filter(pl.col("quantity") != "expected_depth"), rows])


def test_less_depth_is_judged_at_equal_accuracy_and_by_one_reading(three):
    table = with_expected(three.runs)
    (claim,) = judge_less_depth(table, "anira-e", "anira-o")
    assert claim.experiment == "toy anira-e against anira-o"
    assert claim.seeds == (0, 1, 2)
    (silent,) = judge_less_depth(three.runs, "anira-e", "anira-o")
    assert "no distribution over depths" in silent.verdict.reason
