"""One verdict from several settings: they must agree, and those that cannot speak do not count."""

import itertools

import pytest

from anira.measure.claims.knob import make_claim
from anira.measure.claims.paper import combine
from anira.measure.claims.verdict import Evidence, Verdict
from anira.measure.statistics.estimates import Estimate

UP, DOWN, FLAT = Estimate(0.3, 0.2, 0.4), Estimate(-0.3, -0.4, -0.2), Estimate(0.1, -0.1, 0.3)
WORDS = {
    "supported": UP,
    "contradicted": DOWN,
    "inconclusive": FLAT,
    "not testable": Estimate(None, reason="the depth is constant"),
}


def setting(estimate, seeds=3, name="mano anira-e"):
    return make_claim("depth rises", name, [(f"run {seed}", Evidence(seed, estimate)) for seed in range(seeds)])


def combined(*words):
    return combine([setting(WORDS[word]) for word in words])


@pytest.mark.parametrize("words", list(itertools.product(WORDS, repeat=3)))
def test_settings_must_agree(words):
    spoken = set(words) - {"not testable"}
    expected = "not testable" if not spoken else spoken.pop() if len(spoken) == 1 else "inconclusive"
    assert combined(*words).word == expected


def test_the_reason_counts_them():
    assert combined("supported", "inconclusive", "supported").reason == "2 supported, 1 inconclusive"
    assert combine([]) == Verdict("not testable", "no experiment has looked at it")


@pytest.mark.parametrize("agreeing", [UP, FLAT])
def test_a_setting_of_few_seeds_does_not_vote(agreeing):
    assert combine([setting(UP), setting(agreeing, seeds=1)]) == Verdict(
        "supported", "1 supported, 1 with fewer than 3 seeds"
    )
    assert combine([setting(UP, seeds=2)]) == Verdict("inconclusive", "1 with fewer than 3 seeds")


@pytest.mark.parametrize(("many", "few"), [(UP, DOWN), (DOWN, UP)])
def test_one_seed_against_the_others_keeps_them_from_a_verdict(many, few):
    found = combine([setting(many), setting(few, seeds=1, name="clrs sort anira-o")])
    assert found.word == "inconclusive"
    assert found.reason.endswith("1 with fewer than 3 seeds, of which against the others: clrs sort anira-o")
