import pytest

from anira.config import UserError
from anira.tasks.lano import CFG3B, Grammar, Rule


def test_cfg3b_is_as_the_paper_counts_it() -> None:
    assert (len(CFG3B.nonterminals), CFG3B.terminals, len(CFG3B.rules)) == (16, (1, 2, 3), 32)
    assert {rule.probability for rule in CFG3B.rules} == {0.5}
    assert {len(rules) for rules in CFG3B.bodies.values()} == {2}
    sizes = [len(rule.body) for rule in CFG3B.rules]
    assert (sizes.count(2), sizes.count(3), len({rule.body for rule in CFG3B.rules})) == (11, 21, 32)


def test_every_rule_of_cfg3b_goes_down_one_level() -> None:
    heights = CFG3B.heights
    levels = [{1, 2, 3}, {7, 8, 9}, {10, 11, 12}, {13, 14, 15}, {16, 17, 18}, {19, 20, 21}, {22}]
    assert heights == {symbol: height for height, symbols in enumerate(levels) for symbol in symbols}
    for rule in CFG3B.rules:
        assert {heights[symbol] for symbol in rule.body} == {heights[rule.head] - 1}


def test_a_list_of_bodies_is_equally_likely_and_a_mapping_says_how_likely() -> None:
    listed = Grammar.from_rules("S", {"S": [("a",), ("b",), ("a", "S"), ("b", "S")]})
    assert {rule.probability for rule in listed.rules} == {0.25}
    mapped = Grammar.from_rules("S", {"S": {("a",): 0.9, ("a", "S"): 0.1}})
    assert mapped.rules == (Rule("S", ("a",), 0.9), Rule("S", ("a", "S"), 0.1))


def test_grammars_with_the_same_rules_are_equal() -> None:
    one, other = (Grammar.from_rules("S", {"S": [("a", "S"), ("b",)]}) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert one != Grammar.from_rules("S", {"S": [("a", "S"), ("c",)]})


def test_terminals_are_numbers_then_words_in_order() -> None:
    assert Grammar.from_rules("S", {"S": [("b", 3, "a", 1, 2)]}).terminals == (1, 2, 3, "a", "b")


def test_a_lower_start_symbol_keeps_what_it_can_reach() -> None:
    small = CFG3B.restricted(13)
    assert small.start == 13
    assert set(small.nonterminals) == {13, 11, 12, 7, 8, 9}
    assert set(small.rules) <= set(CFG3B.rules)
    assert CFG3B.restricted(22) == CFG3B
    for start in (3, 23, "S"):
        with pytest.raises(UserError, match=f"one of 22, 19, .*, 9, not {start}"):
            CFG3B.restricted(start)


def test_a_recursive_grammar_has_no_heights() -> None:
    grammar = Grammar.from_rules("S", {"S": [("a", "T"), ("b",)], "T": [("b", "S")]})
    with pytest.raises(UserError, match=r"recursive \((S -> T -> S|T -> S -> T)\), and this needs a finite language"):
        _ = grammar.heights


WRONG = {
    "too little": ({"S": {("a",): 0.5, ("b",): 0.4}}, "the rules of S .* add up to 0.9, not to 1"),
    "too much": ({"S": {("a",): 0.5, ("b",): 0.6}}, "the rules of S .* add up to 1.1, not to 1"),
    "none": ({"S": {("a",): 1.0, ("b",): 0.0}}, "rule S -> b has probability 0.0: it must be above 0 and at most 1"),
    "negative": ({"S": {("a",): 1.5, ("b",): -0.5}}, "rule S -> a has probability 1.5"),
    "not a number": ({"S": {("a",): float("nan")}}, "rule S -> a has probability nan"),
    "no rules": ({}, "the start symbol S has no rules"),
    "no bodies": ({"S": []}, "the start symbol S has no rules"),
    "empty body": ({"S": [("a",), ()]}, r"rule S -> \(nothing\): a rule needs at least one symbol"),
    "renaming": ({"S": [("T",)], "T": [("a",)]}, "rule S -> T only renames: write the rules of T in its place"),
    "unreachable": ({"S": [("a",)], "T": [("a",)], "U": [("b",)]}, "from the start symbol S contains T, U: remove"),
    "left recursion": ({"S": [("S", "a")]}, "left recursion never ends: .* spectral radius 1, which must be below 1"),
    "left circle": ({"S": [("T", "a"), ("a",)], "T": [("U", "a")], "U": [("T", "b")]}, "spectral radius 1,"),
    "endless": ({"S": [("a", "T"), ("b",)], "T": [("a", "T")]}, "no derivation from T ever ends: add a rule"),
}


@pytest.mark.parametrize(("rules", "message"), WRONG.values(), ids=WRONG)
def test_what_is_no_grammar_is_refused(rules: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Grammar.from_rules("S", rules)


def test_the_same_rule_twice_is_refused() -> None:
    with pytest.raises(UserError, match="rule S -> a is written twice: add up the two probabilities"):
        Grammar("S", (Rule("S", ("a",), 0.5), Rule("S", ("a",), 0.5)))
    with pytest.raises(UserError, match="rule S -> a is written twice"):
        Grammar.from_rules("S", {"S": [("a",), ("a",)]})


def test_probabilities_may_miss_one_by_rounding() -> None:
    thirds = Grammar.from_rules("S", {"S": {("a",): 1 / 3, ("b",): 1 / 3, ("c",): 1 / 3}})
    tenths = Grammar.from_rules("S", {"S": dict.fromkeys([(letter,) for letter in "abcdefghij"], 0.1)})
    assert (len(thirds.rules), len(tenths.rules)) == (3, 10)


def test_left_recursion_that_ends_is_fine() -> None:
    assert Grammar.from_rules("S", {"S": {("S", "S"): 0.999, ("a",): 0.001}}).terminals == ("a",)
