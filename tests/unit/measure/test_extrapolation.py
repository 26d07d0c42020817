"""Accuracy beyond training: planted drops are found with their interval, and what cannot speak says why."""

from dataclasses import replace

import numpy as np
import pytest
from tests.unit.measure.pairs_support import pairable, with_seed

from anira.measure.compare import Match
from anira.measure.extrapolation import (
    NOTHING_BEYOND,
    compare_rivals,
    judge_generalisation,
    judge_graceful,
    reach,
)
from anira.measure.statistics.estimates import proportion, wilson

SEEN, KNOBS = (1, 2), (1, 2, 3, 4)
FALLING = {1: 1.0, 2: 0.9, 3: 0.6, 4: 0.4}
CHANCE = {1: 1.0, 2: 0.9, 3: 0.2, 4: 0.2}


def summary(folder, right=FALLING, **plan):
    return pairable(folder, right, **{"knobs": KNOBS, "seen": SEEN, **plan})


@pytest.fixture(scope="module")
def falling(tmp_path_factory):
    return summary(tmp_path_factory.mktemp("runs") / "a")


def test_drops_are_differences_of_neighbours(falling):
    found = reach(falling)
    assert (found.limit.knob, found.first.knob, found.beyond.knob) == (2, 3, None)
    assert found.drop.value == pytest.approx(0.3)
    assert found.last_drop.value == pytest.approx(0.1)
    assert (found.beyond.instances, found.beyond.exact.value) == (80, 0.5)
    assert found.beyond.majority == pytest.approx(0.2)
    assert found.beyond.above_majority
    assert found.beyond.exact == proportion(40, 80)


def test_the_interval_of_a_drop_is_newcombes(falling):
    """It is put together from the Wilson intervals of the two accuracies."""
    low, high = wilson([36, 24], [40, 40])
    below = np.hypot(0.9 - low[0], high[1] - 0.6)
    above = np.hypot(high[0] - 0.9, 0.6 - low[1])
    drop = reach(falling).drop
    assert (drop.low, drop.high) == pytest.approx((0.3 - below, 0.3 + above))


def test_intervals_cover_a_planted_drop_at_their_rate(falling):
    rng, covered, repeats = np.random.default_rng(0), 0, 200
    for _ in range(repeats):
        right = rng.binomial(100, (0.9, 0.7))
        rows = [
            replace(row, instances=100, exact=proportion(int(count), 100))
            for row, count in zip(falling.accuracy[1:3], right, strict=True)
        ]
        drop = reach(replace(falling, accuracy=tuple(rows))).drop
        covered += drop.low <= 0.2 <= drop.high
    assert 0.91 * repeats <= covered < repeats


def test_where_there_is_nothing_to_compare_it_says_so(falling):
    within = replace(falling, accuracy=falling.accuracy[:2])
    assert (reach(within).drop.reason, reach(within).beyond) == (NOTHING_BEYOND, None)
    assert judge_generalisation([within])[0].verdict.reason == NOTHING_BEYOND
    beyond = replace(falling, accuracy=falling.accuracy[2:])
    assert reach(beyond) is None
    assert judge_generalisation([beyond])[0].verdict.reason == "no knob of training was evaluated"
    assert reach(replace(falling, accuracy=falling.accuracy[1:])).last_drop.reason == "one knob was trained"


@pytest.mark.parametrize(
    ("right", "word", "reason"),
    [
        (FALLING, "supported", "0.300 [0.300, 0.300] over 3 seeds"),
        ({1: 1.0, 2: 0.6, 3: 0.9, 4: 0.9}, "contradicted", "-0.300 [-0.300, -0.300] over 3 seeds, against the claim"),
        ({1: 1.0, 2: 0.9, 3: 0.9, 4: 0.2}, "inconclusive", "0.000 [0.000, 0.000] over 3 seeds"),
        (
            {1: 1.0, 2: 0.2, 3: 0.2, 4: 0.2},
            "not testable",
            "accuracy at the largest seen knob is not above the majority baseline",
        ),
    ],
)
def test_three_seeds_judge_the_drop(falling, right, word, reason):
    (claim,) = judge_generalisation([with_seed(planted(falling, right), seed) for seed in (1, 0, 2)])
    assert (claim.seeds, claim.verdict.word, claim.verdict.reason) == ((0, 1, 2), word, reason)


def planted(summary, right):
    """The same evaluation with other accuracies."""
    rows = []
    for row in summary.accuracy[:-1]:
        exact = proportion(round(right[row.knob] * row.instances), row.instances)
        rows.append(replace(row, exact=exact, above_majority=exact.low > row.majority))
    return replace(summary, accuracy=tuple(rows))


def rivals(tmp_path, right, other):
    online = summary(tmp_path / "o", right, variant="anira-o")
    fixed = summary(tmp_path / "f", other, variant="fixed", max_depth=1)
    found = compare_rivals(Match(online, fixed), draws=200)
    return [(Match(with_seed(online, seed), with_seed(fixed, seed)), found) for seed in range(3)]


def test_rivals_are_compared_within_training_and_beyond(tmp_path):
    compared = rivals(tmp_path, {**FALLING, 3: 0.9, 4: 0.7}, FALLING)
    found = compared[0][1]
    assert (found.variants, found.seed) == (("anira-o", "fixed"), 0)
    assert found.seen.accuracy.value == 0
    assert (found.seen.instances, found.beyond.instances, found.farthest.instances) == (80, 80, 40)
    assert found.beyond.accuracy.value == pytest.approx(0.3)
    assert found.beyond.accuracy.low > 0.2
    (claim,) = judge_graceful(compared)
    assert (claim.verdict.word, claim.experiment) == ("supported", "mano anira-o against fixed")


@pytest.mark.parametrize(
    ("right", "other", "reason"),
    [
        (FALLING, {**FALLING, 2: 0.8}, "at seen knobs accuracies are 2 points or more apart: 0.950 and 0.900"),
        (
            CHANCE,
            {**CHANCE, 4: 0.1},
            "beyond training neither is above the majority baseline: 0.200 and 0.150, against 0.200",
        ),
    ],
)
def test_rivals_that_do_not_compare_say_why(tmp_path, right, other, reason):
    (claim,) = judge_graceful(rivals(tmp_path, right, other))
    assert (claim.verdict.word, claim.verdict.reason) == ("not testable", reason)


def test_one_of_two_above_guessing_is_enough(tmp_path):
    (claim,) = judge_graceful(rivals(tmp_path, FALLING, CHANCE))
    assert claim.verdict.word == "supported"
