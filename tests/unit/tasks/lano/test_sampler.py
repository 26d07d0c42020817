"""The law of what is drawn, against the exact one, with and without tables of yields."""

from collections import Counter
from random import Random

import numpy as np
import pytest
from scipy import stats
from tests.lano_support import language

from anira.config import UserError
from anira.tasks.lano import CFG3B, Grammar, Sampler, length_distribution, sampler, string_probabilities
from benchmarks.plain.lano import derive

# The draws are fixed, so a test passes always or never; see the tests of MANO's laws.
CHANCE = 1e-5
# Bodies of one to three symbols, unequal probabilities, terminals on every level, and a string with two derivations.
MIXED = Grammar.from_rules(
    "S",
    {
        "S": {("A", "B"): 0.5, ("b", "A", "A"): 0.3, ("a",): 0.2},
        "A": {("B", "b"): 0.1, ("a", "b"): 0.6, ("b",): 0.3},
        "B": {("a",): 0.25, ("b", "b"): 0.75},
    },
)
GRAMMARS = {"10": CFG3B.restricted(10), "13": CFG3B.restricted(13), "mixed": MIXED}


def strings(drawn: sampler.Strings) -> list[tuple]:
    return [tuple(part.tolist()) for part in np.split(drawn.tokens, np.cumsum(drawn.lengths)[:-1])]


def chi_square(observed: Counter, law: dict) -> float:
    assert set(observed) <= set(law)
    total = observed.total()
    return float(stats.chisquare([observed[k] for k in law], [p * total for p in law.values()]).pvalue)


@pytest.mark.parametrize("most", [8192, 4, 1])
@pytest.mark.parametrize("grammar", GRAMMARS.values(), ids=GRAMMARS)
def test_strings_follow_the_exact_law(monkeypatch: pytest.MonkeyPatch, grammar: Grammar, most: int) -> None:
    """With all yields in tables, with those of the lowest level, and with rules only."""
    monkeypatch.setattr(sampler, "_MOST_YIELDS", most)
    drawn = Sampler(grammar).draw(np.random.default_rng(most), 20_000)
    assert chi_square(Counter(strings(drawn)), language(grammar)) > CHANCE


def test_strings_are_independent_of_their_neighbours() -> None:
    drawn = strings(Sampler(CFG3B.restricted(7)).draw(np.random.default_rng(0), 20_000))
    pairs = Counter(zip(drawn[::2], drawn[1::2], strict=True))
    assert chi_square(pairs, {(one, two): 0.25 for one in {*drawn} for two in {*drawn}}) > CHANCE


def test_lengths_of_cfg3b_follow_the_exact_law() -> None:
    law = length_distribution(CFG3B)
    lengths = Sampler(CFG3B).draw(np.random.default_rng(1), 20_000).lengths
    edges = np.searchsorted(law.cumsum(), np.linspace(0.05, 0.95, 19))  # about twenty equal parts
    expected = np.diff([0, *law.cumsum()[edges], 1])
    observed = np.bincount(np.searchsorted(edges, lengths), minlength=20)
    assert stats.chisquare(observed, expected * len(lengths)).pvalue > CHANCE


def test_sentences_of_cfg3b_are_grammatical() -> None:
    for string in strings(Sampler(CFG3B).draw(np.random.default_rng(2), 20)):
        assert string_probabilities(CFG3B, string).is_sentence


def test_the_plain_sampler_has_the_same_law() -> None:
    grammar, rng = CFG3B.restricted(10), Random(0)
    observed = Counter(tuple(derive(rng, grammar)) for _ in range(8000))
    assert chi_square(observed, language(grammar)) > CHANCE


def test_equal_generators_draw_equal_strings_and_a_generator_goes_on() -> None:
    small = Sampler(CFG3B.restricted(16))
    one, other = np.random.default_rng(3), np.random.default_rng(3)
    first = strings(small.draw(one, 50))
    assert strings(small.draw(other, 50)) == first
    assert strings(small.draw(one, 50)) != first


def test_words_can_be_terminals() -> None:
    drawn = Sampler(Grammar.from_rules("S", {"S": [("the", "cat")]})).draw(np.random.default_rng(0), 2)
    assert drawn.tokens.tolist() == ["the", "cat", "the", "cat"]


def test_an_infinite_language_is_an_error() -> None:
    with pytest.raises(UserError, match="needs a finite language"):
        Sampler(Grammar.from_rules("S", {"S": [("a", "S"), ("b",)]}))
