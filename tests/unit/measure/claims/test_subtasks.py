"""The claim that accuracy drops at unseen sizes: each subtask on its own, over seeds."""

from dataclasses import replace

import polars as pl
import pytest
from tests.unit.measure.records_support import Plan, write_subtasks

from anira.measure import measure
from anira.measure.claims.extrapolation import judge_drops
from anira.measure.sizes import unseen_rows
from anira.measure.tidy import make_table

PLANS = {
    "sort": Plan(knobs=(1, 2, 5), n=60, accuracy=0.9),
    "guess": Plan(knobs=(1, 2, 5), n=60, accuracy=0.2),
}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    root = tmp_path_factory.mktemp("subtasks")
    folders = []
    for seed in range(3):
        plans = {name: replace(plan, seed=seed, draw=10 * seed + i) for i, (name, plan) in enumerate(PLANS.items())}
        folders.append(write_subtasks(root / str(seed), plans))
    return measure(folders, draws=10)


def judged(table):
    return judge_drops(pl.concat([table, make_table(unseen_rows(table))]))


def test_equal_accuracy_contradicts_and_a_loss_supports_the_claim(table):
    beyond = (pl.col("quantity") == "accuracy") & (pl.col("knob") == 5)
    lost = table.with_columns(value=pl.when(beyond).then(pl.col("value") / 2).otherwise(pl.col("value")))
    _, same, *_ = judged(table)
    between, drop, *_ = judged(lost)
    assert (drop.experiment, drop.verdict.word, drop.seeds) == ("clrs sort anira-o", "supported", (0, 1, 2))
    assert drop.text == "Accuracy at seen sizes minus accuracy beyond the seen sizes."
    assert same.verdict.word != "supported"
    assert (between.verdict.word, between.verdict.reason) == (
        "not testable",
        "no size between the seen sizes was evaluated",
    )


def test_what_was_not_learned_cannot_be_judged(table):
    *_, guess = judged(table)
    assert guess.verdict.reason == "accuracy is not above the majority baseline"
