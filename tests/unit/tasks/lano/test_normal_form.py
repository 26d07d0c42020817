from collections import Counter

import numpy as np
import pytest

from anira.tasks.lano import CFG3B, Grammar, NormalForm, normal_form

FORM = normal_form(CFG3B)


def named(form: NormalForm) -> set[tuple]:
    """The rules with the names of their symbols."""
    binary = {(*(form.names[symbol] for symbol in rule[:3]), rule.probability) for rule in form.binary}
    return binary | {(form.names[rule.head], rule.terminal, rule.probability) for rule in form.lexical}


def test_sizes_of_cfg3b() -> None:
    assert (len(FORM.names), len(FORM.binary), len(FORM.lexical)) == (40, 53, 3)
    assert len({(rule.left, rule.right) for rule in FORM.binary}) == 49
    assert len({(rule.head, rule.right) for rule in FORM.binary}) == 53
    assert Counter(rule.probability for rule in FORM.binary) == {0.5: 32, 1.0: 21}


def test_a_rule_of_three_gets_a_symbol_of_its_own_for_its_last_two() -> None:
    form = normal_form(Grammar.from_rules("S", {"S": [("A", "A", "A"), ("b", "A", "A")], "A": [("a",)]}))
    assert named(form) == {
        ("S", "A", "S:A A", 0.5),
        ("S:A A", "A", "A", 1.0),
        ("S", "@b", "S:A A", 0.5),
        ("A", "a", 1.0),
        ("@b", "b", 1.0),
    }
    assert form.names == ("S", "A", "S:A A", "S:A A", "@b")  # two symbols of the same name: nothing is shared
    assert len(form.binary) == 4


def test_longer_rules_are_cut_from_the_left() -> None:
    form = normal_form(Grammar.from_rules("S", {"S": [("a", "b", "c", "d")]}))
    assert named(form) == {
        ("S", "@a", "S:b c d", 1.0),
        ("S:b c d", "@b", "S:c d", 1.0),
        ("S:c d", "@c", "@d", 1.0),
        *((f"@{letter}", letter, 1.0) for letter in "abcd"),
    }


def test_a_grammar_in_normal_form_stays_as_it_is() -> None:
    grammar = Grammar.from_rules("S", {"S": {("S", "T"): 0.25, ("a",): 0.75}, "T": [("S", "S"), ("b",)]})
    form = normal_form(grammar)
    assert form.names == ("S", "T")
    assert named(form) == {("S", "S", "T", 0.25), ("S", "a", 0.75), ("T", "S", "S", 0.5), ("T", "b", 0.5)}


def test_left_corners_of_the_published_example() -> None:
    grammar = Grammar.from_rules("S", {"S": [("Y", "Z")], "Y": [("Z", "Y"), ("a",)], "Z": [("a",)]})
    assert normal_form(grammar).expected_corners.tolist() == [[1, 1, 0.5], [0, 1, 0.5], [0, 0, 1]]


def test_left_corners_of_cfg3b_are_exact() -> None:
    corners = FORM.expected_corners
    assert np.count_nonzero(corners) == np.count_nonzero(FORM.corners) == 296
    assert np.array_equal(corners * 2**7, np.round(corners * 2**7))  # sums of powers of 1/2


def test_expected_corners_of_a_left_recursion() -> None:
    grammar = Grammar.from_rules("S", {"S": {("S", "S"): 0.75, ("a",): 0.25}})
    assert normal_form(grammar).expected_corners == pytest.approx(np.array([[4.0]]))
