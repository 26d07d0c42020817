import json
from dataclasses import replace

import pytest
from tests.sealing_support import seal_run
from tests.unit.measure.records_support import Plan, write_run

from anira.measure.claims.knob import in_training, judge_claims
from anira.measure.statistics.estimates import Estimate
from anira.measure.summary import summarize

UP, DOWN = Estimate(0.3, 0.2, 0.4), Estimate(-0.3, -0.4, -0.2)


@pytest.fixture
def summary(tmp_path):
    def make(name, **plan):
        run = write_run(tmp_path / name, Plan(**{"n": 60, "slope": 0.6, **plan}))
        return summarize(run / "records" / "final", draws=200)

    return make


def words(claims):
    return {(claim.experiment, claim.text.split("(")[1].strip(")")): claim.verdict.word for claim in claims}


def test_three_seeds_of_one_experiment_support_a_claim(summary):
    seeds = [summary(f"s{seed}", seed=seed, draw=seed) for seed in (2, 0, 1)]
    claims = judge_claims(seeds)
    assert words(claims) == {
        ("mano anira-o, select median", "slope"): "supported",
        ("mano anira-o, select median", "Spearman"): "supported",
    }
    assert claims[0].seeds == (0, 1, 2)
    assert claims[0].runs == tuple(seeds[i].labels.run_id for i in (1, 2, 0))
    assert claims[0].estimates[2] == seeds[0].aligned().slope


@pytest.mark.parametrize(
    "change", [{"variant": "anira-e"}, {"step": 5000}, {"knobs": (1, 2)}, {"override": "permuted"}]
)
def test_what_differs_in_more_than_the_seed_is_another_experiment(summary, change):
    seeds = [summary("a", seed=0), summary("b", seed=1, draw=1), summary("c", seed=2, draw=2, **change)]
    claims = judge_claims(seeds)
    assert len(claims) == 4
    assert "supported" not in {claim.verdict.word for claim in claims}


def test_another_configuration_of_the_run_is_another_experiment(summary, tmp_path):
    before = summary("a", seed=0)
    run = write_run(tmp_path / "b", Plan(n=60, seed=1))
    config = json.loads((run / "config.json").read_text())
    config["config"]["learning_rate"] = 0.1
    (run / "config.json").write_text(json.dumps(config))
    seal_run(run)
    after = summarize(run / "records" / "final", draws=50)
    assert [claim.seeds for claim in judge_claims([before, after])] == [(0,), (0,), (1,), (1,)]


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        ({"accuracy": 0.2}, "accuracy is not above the majority baseline"),
        ({"override": "permuted"}, "depths were not chosen by the policy"),
        ({"max_depth": 1, "variant": "fixed"}, "the depth is constant"),
        ({"knobs": (2,)}, "the knob is constant"),
    ],
)
def test_what_cannot_be_tested_says_why(summary, plan, reason):
    verdict = judge_claims([summary("a", **plan)])[0].verdict
    assert (verdict.word, verdict.reason) == ("not testable", reason)


def test_accuracy_counts_on_the_knobs_of_training(summary):
    """A model that solves what it was trained on may fail beyond it, and still speak."""
    wide = summary("a", knobs=(1, 2, 8), seen=(1, 2))
    assert wide.seen.instances == 120
    assert judge_claims([wide])[0].verdict.reason == "1 seed, and 3 are needed"


def test_only_knobs_of_training_are_judged(summary):
    narrow = summary("narrow", knobs=(1, 2), seen=(1, 2))
    wide = [summary(f"w{seed}", seed=seed, draw=seed, knobs=(1, 2, 8), seen=(1, 2)) for seed in range(3)]
    assert in_training(narrow.alignment) == narrow.aligned()
    assert in_training(wide[0].alignment) == wide[0].aligned(subset="seen") != wide[0].aligned()
    flipped = [
        replace(one, alignment=tuple(replace(row, slope=UP if row.subset == "all" else DOWN) for row in one.alignment))
        for one in wide
    ]
    assert judge_claims(flipped)[0].verdict.word == "contradicted"
    assert judge_claims(flipped)[0].estimates == (DOWN,) * 3
