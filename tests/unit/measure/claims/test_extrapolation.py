"""Claims about knobs beyond training: three seeds judge, and a seed that cannot be judged says why."""

import pytest
from tests.unit.measure.beyond_support import CHANCE, FALLING, made, table

from anira.measure.claims.extrapolation import judge_generalisation, judge_graceful


@pytest.mark.parametrize(
    ("right", "word", "reason"),
    [
        (FALLING, "supported", "0.300 [0.300, 0.300] over 3 seeds"),
        ({1: 1.0, 2: 0.6, 3: 0.9}, "contradicted", "-0.300 [-0.300, -0.300] over 3 seeds, against the claim"),
        (
            {1: 1.0, 2: 0.9, 3: 0.9},
            "contradicted",
            "0.000 [0.000, 0.000] over 3 seeds: less than the smallest effect of interest, 0.05",
        ),
        (CHANCE | {2: 0.2}, "not testable", "accuracy is not above the majority baseline at the largest seen knob"),
        ({1: 1.0, 2: 0.9}, "not testable", "no knob beyond training was evaluated"),
        ({3: 0.9, 4: 0.5}, "not testable", "no knob of training was evaluated"),
    ],
)
def test_three_seeds_judge_the_drop(right, word, reason):
    (claim,) = judge_generalisation(table([made(right, seed=seed) for seed in (1, 0, 2)]))
    assert (claim.seeds, claim.verdict.word, claim.verdict.reason) == ((0, 1, 2), word, reason)


def graceful(right, other):
    pairs = [(made(right, seed=seed), made(other, variant="fixed", seed=seed)) for seed in range(3)]
    runs = [one for pair in pairs for one in pair]
    (claim,) = judge_graceful(table(runs, pairs), "anira-o", ("anira-e", "fixed"))
    assert claim.experiment == "toy anira-o against fixed"
    return claim.verdict


def test_the_run_that_keeps_more_accuracy_degrades_more_gracefully():
    assert graceful({**FALLING, 3: 0.9, 4: 0.7}, FALLING).word == "supported"
    assert graceful(FALLING, {**FALLING, 3: 0.9, 4: 0.7}).word == "contradicted"
    assert graceful(FALLING, CHANCE).word == "supported", "one of two above guessing is enough"


@pytest.mark.parametrize(
    ("right", "other", "reason"),
    [
        (FALLING, {**FALLING, 2: 0.8}, "at seen knobs accuracies are 2 points or more apart: 0.950 and 0.900"),
        (CHANCE, {1: 0.2, 2: 0.2, 3: 0.2}, "at seen knobs accuracy is not above the majority baseline"),
        (
            CHANCE,
            {**CHANCE, 4: 0.1},
            "beyond training neither is above the majority baseline: 0.200 and 0.150, against 0.200",
        ),
    ],
)
def test_runs_that_do_not_compare_say_why(right, other, reason):
    verdict = graceful(right, other)
    assert (verdict.word, verdict.reason) == ("not testable", reason)
