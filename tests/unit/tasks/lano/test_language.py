from math import log

import numpy as np
import pytest
from tests.lano_support import language

from anira.config import UserError
from anira.tasks.lano import CFG3B, Grammar, derivation_entropy, entropy_floor, length_distribution, mean_length

RECURSIVE = Grammar.from_rules("S", {"S": [("a", "S"), ("b",)]})


@pytest.mark.parametrize("start", [7, 10, 13])
def test_entropy_of_a_language_without_second_derivations_is_that_of_its_strings(start: int) -> None:
    grammar = CFG3B.restricted(start)
    strings = language(grammar)
    entropy = -sum(p * log(p) for p in strings.values())
    assert derivation_entropy(grammar) == pytest.approx(entropy)
    assert entropy_floor(grammar) == pytest.approx(entropy / (1 + mean_length(grammar)))


def test_of_an_ambiguous_language_the_floor_is_a_bound() -> None:
    grammar = Grammar.from_rules("S", {"S": [("A", "a"), ("a", "A")], "A": [("a",), ("b",)]})
    entropy = -sum(p * log(p) for p in language(grammar).values())
    assert derivation_entropy(grammar) == pytest.approx(2 * log(2))
    assert entropy < 1.9 * log(2)


def test_choices_of_cfg3b() -> None:
    assert derivation_entropy(CFG3B) / log(2) == pytest.approx(169.25)


def test_terminals_among_the_symbols() -> None:
    grammar = Grammar.from_rules("S", {"S": {("a", "T", "b"): 0.25, ("a",): 0.75}, "T": [("c",), ("c", "c", "c")]})
    assert length_distribution(grammar).tolist() == [0, 0.75, 0, 0.125, 0, 0.125]
    assert mean_length(grammar) == pytest.approx(1.75)


@pytest.mark.parametrize("fact", [length_distribution, mean_length, derivation_entropy, entropy_floor])
def test_an_infinite_language_is_an_error(fact) -> None:
    with pytest.raises(UserError, match=r"recursive \(S -> S\), and this needs a finite language"):
        fact(RECURSIVE)


def test_means_agree() -> None:
    law = length_distribution(CFG3B.restricted(16))
    assert law @ np.arange(len(law)) == pytest.approx(mean_length(CFG3B.restricted(16)))
