"""One verdict from several settings: they must agree, and those that cannot speak do not count."""

import itertools

import pytest

from anira.measure.claims.paper import combine
from anira.measure.claims.verdict import Evidence, Verdict, make_claim
from anira.measure.statistics.estimates import Estimate

UP, DOWN, FLAT = (0.3, 0.31, 0.29), (-0.3, -0.31, -0.29), (0.1, 0.6, -0.4)
WORDS = {"supported": UP, "contradicted": DOWN, "inconclusive": FLAT, "not testable": (None, None, None)}


def setting(values, seeds=3, name="mano anira-e"):
    found = [Estimate(value, reason="" if value else "the depth is constant") for value in values[:seeds]]
    return make_claim("depth rises", name, [(f"run {i}", Evidence(i, one)) for i, one in enumerate(found)])


def combined(*words):
    return combine([setting(WORDS[word]) for word in words])


@pytest.mark.parametrize("words", list(itertools.product(WORDS, repeat=3)))
def test_settings_must_agree(words):
    spoken = set(words) - {"not testable"}
    expected = "not testable" if not spoken else spoken.pop() if len(spoken) == 1 else "inconclusive"
    assert combined(*words).word == expected


def test_the_reason_counts_them():
    assert combined("supported", "inconclusive", "supported").reason == "2 supported, 1 inconclusive"
    assert combine([]) == Verdict("not testable", "no figure has looked at it")


@pytest.mark.parametrize("agreeing", [UP, DOWN, FLAT])
def test_a_setting_of_few_seeds_has_no_vote_and_no_veto(agreeing):
    assert combine([setting(UP), setting(agreeing, seeds=1)]) == Verdict(
        "supported", "1 supported, 1 with fewer than 3 seeds"
    )
    assert combine([setting(UP, seeds=2)]) == Verdict("inconclusive", "1 with fewer than 3 seeds")
