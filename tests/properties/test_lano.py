"""The parsers of LANO on grammars and strings that hypothesis draws, against oracles that go the long way."""

from itertools import accumulate, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.lano_support import DenseParser, digits, finite_grammars, language, prefixes, recursive_grammars

from anira.tasks.lano import (
    CFG3B,
    Grammar,
    Lano,
    LanoConfig,
    PrefixParser,
    PrefixProbabilities,
    Sampler,
    length_distribution,
    mean_length,
    normal_form,
    string_probabilities,
    token_features,
)

few = settings(max_examples=40)
TASKS = [
    Lano(),
    Lano(LanoConfig(start_symbol=16, packed_length=100)),
    Lano(LanoConfig(start_symbol=10, packed_length=0)),
]
strings = st.lists(st.integers(1, 3), min_size=1, max_size=60)


def strings_of(grammar: Grammar, longest: int) -> st.SearchStrategy[list]:
    return st.lists(st.sampled_from(grammar.terminals), min_size=1, max_size=longest)


@given(recursive_grammars(), st.data())
def test_counts_equal_those_of_the_recurrences_written_out(grammar: Grammar, data: st.DataObject) -> None:
    fast, dense = PrefixParser(grammar), DenseParser(grammar)
    for token in data.draw(strings_of(grammar, 12)):
        features = fast.append(token)
        assert features == dense.append(token)
        assert features.ops_add - features.ops_mul == dense.lexical + dense.slice


@given(recursive_grammars(), st.data())
def test_probabilities_equal_those_of_the_recurrences_written_out(grammar: Grammar, data: st.DataObject) -> None:
    fast, dense = PrefixProbabilities(grammar), DenseParser(grammar)
    for token in data.draw(strings_of(grammar, 12)):
        fast.append(token)
        dense.append(token)
        assert np.exp(fast.log_prob) == pytest.approx(dense.prefix, rel=1e-9)
        assert fast.is_possible == (dense.prefix > 0)
        assert fast.is_sentence == (dense.string > 0)
        if fast.is_possible:
            assert fast.distribution[-1] == pytest.approx(dense.string / dense.prefix, rel=1e-9)


@settings(max_examples=20)
@given(recursive_grammars(), st.data())
def test_all_that_follows_a_prefix_adds_up_to_it(grammar: Grammar, data: st.DataObject) -> None:
    prefix = data.draw(st.lists(st.sampled_from(grammar.terminals), max_size=6))

    def read(tokens: list) -> DenseParser:
        parser = DenseParser(grammar)
        for token in tokens:
            parser.append(token)
        return parser

    longer = [read([*prefix, token]).prefix for token in grammar.terminals]
    before = read(prefix)
    assert sum(longer) + before.string == pytest.approx(before.prefix, rel=1e-9)
    chart = PrefixProbabilities(grammar)
    for token in prefix:
        chart.append(token)
    if chart.is_possible:
        assert chart.distribution * np.exp(chart.log_prob) == pytest.approx([*longer, before.string], rel=1e-9)
        assert chart.distribution.sum() == pytest.approx(1)


@given(finite_grammars(), st.data())
def test_probabilities_equal_those_of_all_strings_written_out(grammar: Grammar, data: st.DataObject) -> None:
    whole = language(grammar)
    begun = prefixes(whole)
    assert begun[()] == pytest.approx(1)
    string = data.draw(st.sampled_from(sorted(whole)))
    chart = PrefixProbabilities(grammar)
    for length in range(len(string) + 1):
        prefix = string[:length]
        probability = begun[prefix]
        assert chart.log_prob == pytest.approx(np.log(probability), abs=1e-9)
        nexts = [begun.get((*prefix, token), 0) / probability for token in grammar.terminals]
        law = np.array([*nexts, whole.get(prefix, 0) / probability])
        assert chart.distribution == pytest.approx(law, abs=1e-9)
        assert chart.entropy == pytest.approx(-sum(p * np.log(p) for p in law if p), abs=1e-8)
        assert chart.is_sentence == (prefix in whole)
        if length < len(string):
            chart.append(string[length])
    assert string_probabilities(grammar, string).log_prob == pytest.approx(np.log(whole[string]), abs=1e-9)


@few
@given(finite_grammars())
def test_lengths_equal_those_of_all_strings_written_out(grammar: Grammar) -> None:
    whole = language(grammar)
    law = np.zeros(1 + max(map(len, whole)))
    for string, probability in whole.items():
        law[len(string)] += probability
    assert length_distribution(grammar) == pytest.approx(law)
    assert mean_length(grammar) == pytest.approx(law @ np.arange(len(law)))


@few
@given(finite_grammars(), st.integers(0, 2**32))
def test_what_is_drawn_is_in_the_language(grammar: Grammar, seed: int) -> None:
    whole = language(grammar)
    drawn = Sampler(grammar).draw(np.random.default_rng(seed), 20)
    assert len(drawn.tokens) == drawn.lengths.sum()
    for part in np.split(drawn.tokens, np.cumsum(drawn.lengths)[:-1]):
        assert tuple(part.tolist()) in whole


@few
@given(st.one_of(recursive_grammars(), finite_grammars()))
def test_the_normal_form_has_pairs_and_words_whose_probabilities_add_up(grammar: Grammar) -> None:
    form = normal_form(grammar)
    totals = np.zeros(len(form.names))
    for rule in (*form.binary, *form.lexical):
        totals[rule.head] += rule.probability
    assert totals == pytest.approx(1)
    assert form.names[: len(grammar.nonterminals)] == tuple(map(str, grammar.nonterminals))
    assert form.names[form.start] == grammar.start
    assert {rule.terminal for rule in form.lexical} == set(grammar.terminals)
    powers = list(accumulate(range(200), lambda power, _: power @ _one(form), initial=np.eye(len(totals))))
    if powers[-1].max() < 1e-9:
        assert form.expected_corners == pytest.approx(sum(powers), abs=1e-6)
        assert ((form.expected_corners > 0) == form.corners).all()


def _one(form) -> np.ndarray:
    one = np.zeros((len(form.names), len(form.names)))
    for rule in form.binary:
        one[rule.head, rule.left] += rule.probability
    return one


@given(strings, strings)
def test_what_follows_does_not_change_what_was_found(tokens: list[int], more: list[int]) -> None:
    assert token_features(CFG3B, [*tokens, *more])[: len(tokens)] == token_features(CFG3B, tokens)
    longer, alone = (string_probabilities(CFG3B, string) for string in ([*tokens, *more], tokens))
    np.testing.assert_array_equal(longer.log_prefix[: len(tokens)], alone.log_prefix)
    np.testing.assert_array_equal(longer.entropy[: len(tokens)], alone.entropy)
    assert min(longer.num_possible, len(tokens)) == alone.num_possible


@given(strings)
def test_invariants_of_any_string(tokens: list[int]) -> None:
    features, chances = token_features(CFG3B, tokens), string_probabilities(CFG3B, tokens)
    assert features[0].active_gamma_slice == 0
    assert all(one.ops_add > one.ops_mul > 0 for one in features)
    assert all(one.active_beta_end >= 1 for one in features)  # the token itself
    assert (np.diff(np.maximum(chances.log_prefix, -1e9)) <= 1e-9).all()
    assert ((chances.entropy >= 0) | np.isnan(chances.entropy)).all()
    # What is awaited before a token does not depend on the token.
    for other in (1, 2, 3):
        again = token_features(CFG3B, [*tokens[:-1], other])[-1]
        assert again.active_gamma_slice == features[-1].active_gamma_slice


@pytest.mark.parametrize("start", [10, 13])
def test_sub_languages_written_out(start: int) -> None:
    grammar = CFG3B.restricted(start)
    whole = language(grammar)
    begun = prefixes(whole)
    sizes = {10: (16, 64), 13: (512, 2170)}
    assert (len(whole), len(begun)) == sizes[start]  # the empty prefix is one
    for string in whole:
        chart, probability = PrefixProbabilities(grammar), 1.0
        for length, token in enumerate(string):
            law = [begun.get((*string[:length], other), 0) / probability for other in (1, 2, 3)]
            assert chart.distribution == pytest.approx([*law, whole.get(string[:length], 0) / probability], abs=1e-12)
            chart.append(token)
            probability = begun[string[: length + 1]]
            assert np.exp(chart.log_prob) == pytest.approx(probability, rel=1e-12)
        assert chart.is_sentence


@given(st.sampled_from(TASKS), st.integers(0, 5000), st.sampled_from([None, 1, 2]))
def test_a_question_reads_back_as_its_row(task: Lano, start: int, knob: int | None) -> None:
    rows = task.rows(seed=3, stream="train", start=start, count=1, knob=knob)
    again = task.read(task.instance(rows, 0).question)
    assert (again.ids(0), again.labels.tolist()) == (rows.ids(0), rows.labels.tolist())


@given(st.lists(st.sampled_from(["1", "2", "3", "1 2 3", "<bos>", "<eos>", "<pad>", "...", "x"]), max_size=8))
def test_any_text_is_a_row_or_an_error_of_the_user(words: list[str]) -> None:
    task, text = TASKS[1], " ".join(words)
    try:
        rows = task.read(text)
    except ValueError as error:
        assert type(error).__name__ == "UserError"
        assert "\n" not in str(error)
        return
    marks = {"...", "<bos>", "<eos>"}
    typed = [word for word in text.split() if word not in marks]
    written = [word for word in task.vocab.decode(rows.ids(0)).split() if word not in marks]
    assert written[: len(typed)] == typed
    assert task.instance(rows, 0).meta["tokens"] <= len(written)
    assert {len(values) for values in task.probes(rows, 0).values()} == {rows.lengths[0]}


@few
@given(st.lists(st.integers(0, 5), min_size=1, max_size=40))
def test_whatever_a_model_writes_is_graded(written: list[int]) -> None:
    task = TASKS[2]
    rows = task.rows(seed=0, stream="eval", start=0, count=1, knob=2)
    text = "".join(map(str, written))
    sentence = text.partition("5")[0]
    right = "5" in text and tuple(digits(sentence)) in language(task.grammar())
    assert task.grade(rows, 0, written).lenient == right


def test_every_string_of_a_small_language_is_leniently_right() -> None:
    task = TASKS[2]
    rows = task.rows(seed=0, stream="eval", start=0, count=1)
    whole = language(task.grammar())
    for length in (6, 7):
        for string in product((1, 2, 3), repeat=length):
            grade = task.grade(rows, 0, [*string, 5])
            assert grade.lenient == (string in whole)
            assert grade.exact == ([*string, 5] == rows.answer(0))
