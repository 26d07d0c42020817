from random import Random

import pytest
from tests.lano_support import DenseParser

from anira.config import UserError
from anira.tasks.lano import CFG3B, Grammar, PrefixParser, TokenFeatures, token_features
from benchmarks.plain.lano import derive


def test_counts_on_cfg3b_equal_those_of_the_recurrences_written_out() -> None:
    fast, dense = PrefixParser(CFG3B), DenseParser(CFG3B)
    for token in derive(Random(5), CFG3B)[:18]:
        assert fast.append(token) == dense.append(token)


def test_a_longer_rule_is_counted_in_its_normal_form() -> None:
    grammar = Grammar.from_rules("S", {"S": [("a", "S", "b"), ("a", "b")]})
    fast, dense = PrefixParser(grammar), DenseParser(grammar)
    for token in "aaabbb":
        assert fast.append(token) == dense.append(token)


def test_two_words_of_one_token() -> None:
    # Worked by hand: V = 3 symbols, both A and B write a, and S -> A B. The second a finds A B.
    grammar = Grammar.from_rules("S", {"S": [("A", "B")], "A": [("a",)], "B": [("a",)]})
    parser = PrefixParser(grammar)
    # t = 2 additions; prefix of one token: 3 symbols x 2 words.
    assert parser.append("a") == TokenFeatures(ops_add=8, ops_mul=6, active_gamma_slice=0, active_beta_end=2)
    # t = 2; inside: pairs (A, A), (A, B), (B, A), (B, B), then one rule fires; gamma: one rule; delta: 3 products and
    # one nonzero entry (S awaits B, nothing else begins with S); prefix: 6 for the token, 1 for delta with B.
    assert parser.append("a") == TokenFeatures(
        ops_add=2 + 4 + 1 + 1 + 3 + 1 + 6 + 1, ops_mul=4 + 1 + 1 + 3 + 6 + 1, active_gamma_slice=1, active_beta_end=3
    )


def test_parsers_of_one_grammar_do_not_share_strings() -> None:
    one, other = PrefixParser(CFG3B), PrefixParser(CFG3B)
    first = [one.append(token) for token in (3, 1, 2)]
    assert [other.append(token) for token in (3, 1, 2)] == first


def test_no_length_makes_counts_vanish() -> None:
    # P(string) = 2**-1201 is no float64.
    features = token_features(Grammar.from_rules("S", {"S": [("a", "S"), ("b",)]}), ["a"] * 1200 + ["b"])
    assert features[-1].active_beta_end == 1201  # every suffix is an S
    # One more a has one more S that it may be the beginning of.
    assert [one.ops_mul - other.ops_mul for one, other in zip(features[3:-1], features[2:-2], strict=True)] == [
        1
    ] * 1197


@pytest.mark.parametrize("token", [0, 4, "1", "x", None])
def test_an_unknown_terminal_is_an_error(token: object) -> None:
    parser = PrefixParser(CFG3B)
    parser.append(1)
    with pytest.raises(UserError, match=f"unknown terminal {token!r}: the grammar has 1, 2, 3"):
        parser.append(token)
    assert parser.append(1).ops_add == 151  # the string is what it was: the second token of a worked one


def test_an_empty_string_is_an_error() -> None:
    with pytest.raises(UserError, match="an empty string has no tokens to parse"):
        token_features(CFG3B, [])
