"""One verdict from several settings: they must agree, and those that cannot speak do not count."""

import itertools

import pytest

from anira.analysis.paper_claims import combine
from anira.analysis.verdict import Verdict

WORDS = ("supported", "contradicted", "inconclusive", "not testable")


def combined(*words):
    return combine([Verdict(word, "") for word in words])


@pytest.mark.parametrize("words", list(itertools.product(WORDS, repeat=3)))
def test_settings_must_agree(words):
    spoken = set(words) - {"not testable"}
    expected = "not testable" if not spoken else spoken.pop() if len(spoken) == 1 else "inconclusive"
    assert combined(*words).word == expected


def test_the_reason_counts_them():
    assert combined("supported", "inconclusive", "supported").reason == "2 supported, 1 inconclusive"
    assert combine([]) == Verdict("not testable", "no experiment has looked at it")
