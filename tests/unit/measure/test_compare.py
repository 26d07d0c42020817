"""Two runs on the same instances: planted differences are found, and nothing where there is nothing."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.sealing_support import edit_table
from tests.unit.measure.pairs_support import pairable, with_seed

from anira.measure.compare import (
    Match,
    compare,
    judge_less_depth,
    match_seeds,
    shared_instances,
)

WIDE = {"max_depth": 12, "noise": 0.5}
EARLY, ONLINE = {"variant": "anira-e", **WIDE}, {"variant": "anira-o", **WIDE}


def pairs(depth, other, *, tokens=None, correct=None, correct_other=None):
    """Rows as `shared_instances` makes them, at two knobs."""
    n = len(depth)
    count = np.ones(n, dtype=int) if tokens is None else tokens
    right = np.ones(n, dtype=bool) if correct is None else correct
    right_other = right if correct_other is None else correct_other
    return pl.DataFrame(
        {
            "knob": np.arange(n) % 2,
            "split": ["seen"] * n,
            "answer": [str(i % 5) for i in range(n)],
            "seen_in_training": [None] * n,
            **{"correct": right, "lenient_correct": right, "answer_tokens": count, "answer_depth": depth},
            **{"correct_other": right_other, "lenient_correct_other": right_other},
            **{"answer_tokens_other": count, "answer_depth_other": other},
        },
        schema_overrides={"seen_in_training": pl.Boolean},
    )


def test_the_mean_is_over_tokens():
    found = compare(pairs([3, 12], [2, 4], tokens=[1, 4]), draws=20)
    assert found.depth.value == pytest.approx(15 / 5 - 6 / 5)


def test_accuracy_and_depth_are_those_of_the_first_less_the_second():
    right, other = np.arange(100) < 80, np.arange(100) < 60
    found = compare(pairs(np.where(other, 4, 9), np.full(100, 3), correct=right, correct_other=other), draws=100)
    assert found.accuracy.value == pytest.approx(0.2)
    assert [one.exact.value for one in found.accuracies] == [0.8, 0.6]
    assert (found.instances, found.both_right) == (100, 60)
    assert found.depth.value == pytest.approx(0.6 * 1 + 0.4 * 6)
    assert (found.depth_both_right.value, found.depth_both_right.low) == (1.0, 1.0)


def test_intervals_cover_what_was_planted_at_their_rate():
    rng = np.random.default_rng(0)
    truth, covered = (0.3, 0.1), np.zeros(2)
    repeats = 150
    for draw in range(repeats):
        hard = rng.normal(size=100)
        depth, other = (hard + shift + rng.normal(size=100) for shift in (truth[0], 0.0))
        right, right_other = rng.random(100) < 0.9, rng.random(100) < 0.8
        found = compare(pairs(depth, other, correct=right, correct_other=right_other), seed=draw, draws=200)
        covered += [
            one.low <= value <= one.high for one, value in zip((found.depth, found.accuracy), truth, strict=True)
        ]
    assert (covered >= 0.89 * repeats).all(), covered
    assert (covered <= 0.99 * repeats).all(), covered


def test_what_both_runs_find_hard_drops_out():
    rng = np.random.default_rng(1)
    hard = rng.integers(0, 20, size=200)
    shared = compare(pairs(hard + 1 + rng.integers(0, 2, 200), hard + rng.integers(0, 2, 200)))
    apart = compare(pairs(hard + 1 + rng.integers(0, 2, 200), rng.permutation(hard) + rng.integers(0, 2, 200)))
    assert shared.depth.high - shared.depth.low < 0.2 * (apart.depth.high - apart.depth.low)
    assert (shared.depth.direction, apart.depth.direction) == (1, 0)


def test_without_an_instance_that_both_answer_right_its_depth_is_undefined():
    right = np.arange(40) < 20
    found = compare(pairs(np.ones(40), np.ones(40), correct=right, correct_other=~right), draws=20)
    assert found.depth_both_right.value is None
    assert found.depth_both_right.reason == "no instance that both answer right"


def test_records_are_paired_instance_by_instance(tmp_path):
    """The slope of E is 0.25 steeper, at a mean knob of 2.5; O has one knob more, and fewer instances."""
    early = pairable(tmp_path / "e", n=60, slope=0.5, draw=1, **EARLY)
    online = pairable(tmp_path / "o", knobs=(1, 2, 3, 4, 5), slope=0.25, draw=2, **ONLINE)
    table = shared_instances(Match(early, online))
    assert table.group_by("knob", maintain_order=True).len().rows() == [(knob, 40) for knob in (1, 2, 3, 4)]
    found = compare(table)
    assert found.depth.low < 0.625 < found.depth.high
    assert found.depth.low > 0.4


def test_evaluations_of_other_instances_share_none(tmp_path):
    early, online = pairable(tmp_path / "e", **EARLY), pairable(tmp_path / "o", **ONLINE)
    path = tmp_path / "o" / "records" / "final" / "instances-k002.parquet"
    edit_table(path, lambda table: table.with_columns(answer=pl.col("answer").reverse()))
    match = Match(early, online)
    found = compare(shared_instances(match))
    assert (found.instances, found.depth.value, found.accuracy.value) == (0, None, None)
    (claim,) = judge_less_depth([(match, found)])
    assert (claim.verdict.word, claim.verdict.reason) == ("not testable", "the two evaluations share no instances")


def test_runs_meet_by_seed(tmp_path):
    early, online = pairable(tmp_path / "e", **EARLY), pairable(tmp_path / "o", **ONLINE)
    found = match_seeds([with_seed(early, seed) for seed in (2, 0, 1)], [with_seed(online, seed) for seed in (0, 2, 5)])
    assert [(pair.first.labels.variant, pair.first.labels.seed, pair.second.labels.seed) for pair in found] == [
        ("anira-e", 0, 0),
        ("anira-e", 2, 2),
    ]
    assert found[0].text == "mano anira-e against anira-o"


def judged(tmp_path, more=0.3, right=(0.9, 0.9), **changes):
    """Verdicts over three seeds, E with a planted depth above O's."""
    accuracies = [dict.fromkeys((1, 2, 3, 4), share) for share in right]
    early = pairable(tmp_path / "e", accuracies[0], slope=0.4 + more, **EARLY, **changes)
    online = pairable(tmp_path / "o", accuracies[1], slope=0.4, draw=1, **ONLINE, **changes)
    found = compare(shared_instances(Match(early, online)), draws=200)
    return judge_less_depth([(Match(with_seed(early, seed), with_seed(online, seed)), found) for seed in range(3)])


@pytest.mark.parametrize(("more", "word"), [(0.3, "supported"), (-0.3, "contradicted")])
def test_three_seeds_settle_the_claim(tmp_path, more, word):
    (claim,) = judged(tmp_path, more)
    assert claim.verdict.word == word
    assert (claim.seeds, claim.experiment) == ((0, 1, 2), "mano anira-e against anira-o")
    assert all(estimate.direction == np.sign(more) for estimate in claim.estimates)


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        ({"right": (0.9, 0.85)}, "accuracies are 2 points or more apart: 0.900 and 0.850"),
        ({"right": (0.2, 0.2)}, "accuracy is not above the majority baseline"),
        ({"override": "permuted"}, "depths were not chosen by the policy"),
    ],
)
def test_runs_that_do_not_compare_say_why(tmp_path, plan, reason):
    (claim,) = judged(tmp_path, **plan)
    assert (claim.verdict.word, claim.verdict.reason) == ("not testable", reason)


def test_other_settings_are_another_comparison(tmp_path):
    match = Match(pairable(tmp_path / "e", **EARLY), pairable(tmp_path / "o", **ONLINE))
    later = replace(match.second, labels=replace(match.second.labels, step=5000, seed=1))
    found = compare(shared_instances(match), draws=20)
    compared = [(match, found), (Match(with_seed(match.first, 1), later), found)]
    assert [len(claim.seeds) for claim in judge_less_depth(compared)] == [1, 1]
