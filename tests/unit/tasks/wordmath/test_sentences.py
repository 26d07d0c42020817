"""The language: every wording is told apart from every other, and says what it should about its slots."""

import pytest

from anira.tasks.wordmath.sentences import (
    CLAUSES,
    FRAME,
    NAMES,
    PRONOUNS,
    SENTENCES,
    SIGNS,
    THINGS,
    WORDINGS,
    make_vocab,
    recognise,
)

FILLING = {"name": "Ana", "other": "Ben", "she": "she", "She": "She", "her": "her"} | {
    "n": "7",
    "things": "shells",
    "toys": "books",
}


def test_every_meaning_has_its_wordings_in_both_kinds_of_story() -> None:
    assert {len(texts) for texts in FRAME.values()} == {WORDINGS}
    for kind in CLAUSES.values():
        assert list(kind) == list(SIGNS)
        assert {len(texts) for texts in kind.values()} == {WORDINGS}
    assert len({sentence.text for sentence in SENTENCES}) == len(SENTENCES) == WORDINGS * (3 + 2 * 4)


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda sentence: sentence.text)
def test_a_sentence_is_recognised_with_its_slots(sentence) -> None:
    words = sentence.text.format(**FILLING).split()
    found, filling = recognise(words)
    assert found is sentence
    assert filling == [FILLING[slot] for slot in sentence.slots]
    assert words[-1] == ("?" if sentence.meaning == "ask" else ".")
    assert all(word in make_vocab(20) for word in words)


def test_amounts_stand_where_they_are_told() -> None:
    with_number = {sentence.meaning for sentence in SENTENCES if "n" in sentence.slots}
    without = {sentence.meaning for sentence in SENTENCES if "n" not in sentence.slots}
    assert with_number == {"open", "aside", "add", "take"}
    assert without == {"ask", "double", "halve"}
    assert all({"name", "other"} <= set(one.slots) for one in SENTENCES if one.kind == "comparisons")
    assert not any("other" in one.slots for one in SENTENCES if one.kind == "events")


@pytest.mark.parametrize(
    "text", ["Ana has apples .", "Ana has 5 apples", "has 5 apples .", "Ana has 5 Ben .", "She has 5 apples .", "", "."]
)
def test_other_words_are_no_sentence(text: str) -> None:
    assert recognise(text.split()) is None


def test_numbers_are_single_tokens_and_the_only_thing_that_the_limit_changes() -> None:
    small, large = make_vocab(20), make_vocab(40)
    assert [token for token in small.tokens if token.isdigit()] == [str(n) for n in range(1, 21)]
    assert set(large.tokens) - set(small.tokens) == {str(n) for n in range(21, 41)}
    for words in (NAMES, THINGS, *PRONOUNS.values()):
        ids = [small.id(word) for word in words]
        assert ids == list(range(ids[0], ids[0] + len(ids)))
