from math import inf, log

import numpy as np
import pytest

from anira.config import UserError
from anira.tasks.lano import CFG3B, Grammar, PrefixProbabilities, Sampler, entropy_floor, string_probabilities

PUBLISHED = Grammar.from_rules("S", {"S": [("Y", "Z")], "Y": [("Z", "Y"), ("a",)], "Z": [("a",)]})


def test_the_published_example() -> None:
    found = string_probabilities(PUBLISHED, ["a"] * 4)
    assert np.exp(found.log_prefix).tolist() == pytest.approx([1, 1, 0.5, 0.25])
    assert np.exp(found.log_prob) == pytest.approx(0.125)
    assert (found.is_sentence, found.num_possible) == (True, 4)


def test_nothing_read_yet() -> None:
    chart = PrefixProbabilities(PUBLISHED)
    assert (len(chart), chart.log_prob, chart.is_possible, chart.is_sentence) == (0, 0.0, True, False)
    assert chart.distribution.tolist() == [1.0, 0.0]
    assert chart.entropy == 0


def test_after_an_impossible_token_nothing_is_known() -> None:
    chart = PrefixProbabilities(CFG3B.restricted(7))  # 3 1 or 1 2 3
    assert chart.append(3) == pytest.approx(0.5)
    assert chart.append(3) == 0
    assert chart.append(1) == 0
    assert (len(chart), chart.log_prob, chart.is_possible, chart.is_sentence) == (1, -inf, False, False)
    assert np.isnan([*chart.distribution, chart.entropy]).all()


def test_what_is_known_of_a_string_with_an_impossible_token() -> None:
    found = string_probabilities(CFG3B.restricted(7), [3, 3, 1])
    assert found.log_prefix.tolist() == [pytest.approx(log(0.5)), -inf, -inf]
    assert found.entropy.tolist() == pytest.approx([log(2), 0, np.nan], nan_ok=True)
    assert (found.log_prob, found.is_sentence, found.num_possible) == (-inf, False, 1)


def test_a_string_can_be_possible_and_no_sentence() -> None:
    found = string_probabilities(CFG3B.restricted(7), [1, 2])
    assert (found.is_sentence, found.num_possible, found.log_prob) == (False, 2, -inf)


def test_no_length_makes_probabilities_vanish() -> None:
    grammar = Grammar.from_rules("S", {"S": [("a", "S"), ("b",)]})
    found = string_probabilities(grammar, ["a"] * 1200 + ["b"])
    assert found.log_prob == pytest.approx(1201 * log(0.5), rel=1e-12)
    assert set(found.entropy) == {round(log(2), 9)}


def test_equal_entropies_are_equal_numbers() -> None:
    # Ranks are taken of them: a rounding error would part what is tied.
    drawn = Sampler(CFG3B).draw(np.random.default_rng(0), 3)
    entropy = string_probabilities(CFG3B, drawn.tokens[: drawn.lengths[0]].tolist()).entropy
    values = np.unique(entropy)
    assert np.diff(values).min() > 1e-8
    assert values[0] == 0
    assert round(log(2), 9) in values


def test_mean_surprise_is_the_floor() -> None:
    drawn = Sampler(CFG3B).draw(np.random.default_rng(0), 200)
    parts = np.split(drawn.tokens, np.cumsum(drawn.lengths)[:-1])
    logs = np.array([string_probabilities(CFG3B, part.tolist()).log_prob for part in parts])
    tokens = drawn.lengths + 1
    floor = entropy_floor(CFG3B)
    error = (-logs - floor * tokens).std() / np.sqrt(len(parts)) / tokens.mean()
    assert abs(-logs.sum() / tokens.sum() - floor) < 4 * error


def test_inside_of_a_span() -> None:
    chart = PrefixProbabilities(PUBLISHED)
    for _ in range(3):
        chart.append("a")
    assert set(chart.cell(0, 2)) == {0, 1}  # S -> Y Z and Y -> Z Y
    assert chart.cell(2, 1) == {}


@pytest.mark.parametrize("token", [0, "1", "x"])
def test_an_unknown_terminal_is_an_error(token: object) -> None:
    with pytest.raises(UserError, match=f"unknown terminal {token!r}: the grammar has 1, 2, 3"):
        PrefixProbabilities(CFG3B).append(token)


def test_an_empty_string_is_an_error() -> None:
    with pytest.raises(UserError, match="an empty string has no tokens to parse"):
        string_probabilities(CFG3B, [])
