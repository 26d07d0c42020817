from random import Random

import pytest

from anira.tasks.lano import CFG3B, Grammar, PrefixProbabilities
from anira.tasks.lano.derivation import outline
from benchmarks.plain.lano import derive


def lines(grammar: Grammar, tokens: list, levels: int) -> list[str]:
    chart = PrefixProbabilities(grammar)
    for token in tokens:
        chart.append(token)
    assert chart.is_sentence
    return outline(chart, levels)


@pytest.mark.parametrize("seed", range(5))
def test_the_rules_of_all_levels_write_the_sentence(seed: int) -> None:
    grammar = CFG3B.restricted(16)
    sentence = derive(Random(seed), grammar)
    rules = [line.partition("  ")[0].split(" -> ") for line in lines(grammar, sentence, grammar.heights[16])]
    known = {(str(rule.head), " ".join(map(str, rule.body))) for rule in grammar.rules}
    assert {(head, body) for head, body in rules} <= known
    # Level by level, each rule replaces the next symbol that has rules.
    written, rules = ["16"], rules[::-1]
    for _ in range(grammar.heights[16]):
        written = [symbol for head in written for symbol in _replaced(head, rules)]
    assert written == list(map(str, sentence))


def _replaced(head: str, rules: list) -> list[str]:
    expected, body = rules.pop()
    assert head == expected
    return body.split()


def test_a_long_rule_is_shown_whole_with_its_terminals() -> None:
    grammar = Grammar.from_rules("S", {"S": [("a", "T", "b", "T")], "T": [("c",), ("c", "d")]})
    assert lines(grammar, list("accdbc"[:2] + "bcd"), 1) == ["S -> a T b T  (1..5)"]


def test_the_likelier_derivation_is_shown() -> None:
    grammar = Grammar.from_rules("S", {"S": {("A", "B"): 0.9, ("B", "A"): 0.1}, "A": [("a",)], "B": [("a",)]})
    assert lines(grammar, ["a", "a"], 1) == ["S -> A B  (1..2)"]
