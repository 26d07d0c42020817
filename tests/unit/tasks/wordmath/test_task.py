"""Word problems: what every option changes, and what it leaves alone."""

import re
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from anira.config import UserError
from anira.tasks.base import Rows
from anira.tasks.wordmath import Wordmath, WordmathConfig
from anira.tasks.wordmath.sentences import NAMES, SENTENCES, WORDINGS, recognise
from anira.testing import check_task

CHANCE = 1e-5
COUNT = 300


def made(*, knob: int | None = None, count: int = COUNT, **options: object) -> tuple[Wordmath, Rows]:
    task = Wordmath(WordmathConfig(**options))  # type: ignore[arg-type]
    return task, task.rows(seed=2, stream="train", start=0, count=count, knob=knob)


def sentences(task: Wordmath, rows: Rows, i: int) -> list[str]:
    return re.findall(r"\S.*?[.?]", task.instance(rows, i).question)


def steps(task: Wordmath, rows: Rows, i: int) -> list[str]:
    return re.findall(r"\d+ . \d+ = \d+", task.instance(rows, i).answer)


@pytest.mark.parametrize(
    "options", [{}, {"answer": "final"}, {"story": "both", "distractors": 2, "held_out_wording": True}], ids=str
)
def test_the_contract_of_a_task_is_kept(options: dict) -> None:
    report = check_task(Wordmath(WordmathConfig(**options)))
    assert report.ok, str(report)


def test_sizes_are_uniform_over_the_trained_ones() -> None:
    task, rows = made(clauses=(1, 2, 5), count=4096)
    assert stats.chisquare([int((rows.knob == size).sum()) for size in (1, 2, 5)]).pvalue > CHANCE
    assert [task.knob.split(size) for size in (1, 3, 5, 6, 11)] == [
        "seen",
        "interpolation",
        "seen",
        "extrapolation",
        "extrapolation",
    ]


@pytest.mark.parametrize("story", ["events", "comparisons"])
@pytest.mark.parametrize("knob", [1, 4, 11])
def test_a_clause_more_is_a_sentence_and_a_step_more(story: str, knob: int) -> None:
    task, rows = made(story=story, knob=knob, count=50)
    for i in range(50):
        assert len(sentences(task, rows, i)) == knob + 2  # the opening and the question
        assert len(steps(task, rows, i)) == knob


def test_rows_of_four_clauses_are_short() -> None:
    for answer, most in (("steps", 76), ("final", 51)):
        _, rows = made(answer=answer, knob=4, count=4096)
        assert most - 3 <= rows.lengths.max() <= most


def test_the_form_of_the_answer_changes_no_story() -> None:
    (task, full), (_, short) = (made(answer=answer, story="both") for answer in ("steps", "final"))
    for i in range(COUNT):
        start, other = full.answer_positions(i)[0], short.answer_positions(i)[0]
        assert full.ids(i)[:start] == short.ids(i)[:other]
        assert full.answer(i)[-2:] == short.answer(i)  # the number, <eos>
        assert len(full.answer(i)) == 3 + len(steps(task, full, i)) * (8 if ":" in task.instance(full, i).answer else 6)


def test_distractors_are_put_between_the_sentences_of_the_same_story() -> None:
    (task, plain), (_, rows) = (made(distractors=number) for number in (0, 2))
    places: Counter = Counter()
    for i in range(COUNT):
        told = sentences(task, rows, i)
        asides = [place for place, text in enumerate(told) if recognise(text.split())[0].meaning == "aside"]  # type: ignore[index]
        assert len(asides) == 2
        assert [text for place, text in enumerate(told) if place not in asides] == sentences(task, plain, i)
        assert rows.answer(i) == plain.answer(i)
        if rows.knob[i] == 1:
            places.update(asides)
    assert set(places) == {1, 2, 3}  # behind the opening, in front of the question
    assert stats.chisquare([places[place] for place in (1, 2, 3)]).pvalue > CHANCE


def test_comparisons_come_in_any_order_and_events_in_their_own() -> None:
    def clauses(story: str) -> list[list[float]]:
        task, rows = made(story=story, knob=2)
        read = [task.probes(rows, i)["clause_read"] for i in range(200)]
        return [list(dict.fromkeys(values[~np.isnan(values)].tolist())) for values in read]

    assert all(order == [0, 1, 2] for order in clauses("events"))
    assert len({tuple(order) for order in clauses("comparisons")}) == 6


def test_both_kinds_of_story_come_equally_often() -> None:
    task, rows = made(story="both", count=2000)
    share = (rows.input_ids == task.vocab.id(":")).any(axis=1).mean()
    assert share == pytest.approx(0.5, abs=0.04)


def test_every_wording_name_and_thing_comes_up_equally_often() -> None:
    task, rows = made(knob=3, count=700)
    told = [recognise(text.split()) for i in range(700) for text in sentences(task, rows, i)]
    for meaning in ("open", "ask", "add", "take", "double", "halve"):
        counts = Counter(sentence.wording for sentence, _ in told if sentence.meaning == meaning)  # type: ignore[misc]
        assert stats.chisquare([counts[wording] for wording in range(WORDINGS)]).pvalue > CHANCE, meaning
    names = Counter(filling[0] for sentence, filling in told if sentence.meaning == "open")  # type: ignore[misc]
    assert stats.chisquare([names[name] for name in NAMES]).pvalue > CHANCE


def test_a_wording_can_be_kept_from_training() -> None:
    task, rows = made(held_out_wording=True, story="both", distractors=1)
    assert {task.instance(rows, i).meta["held_out_wordings"] for i in range(COUNT)} == {0}
    task, rows = made(held_out_wording=True, knob=3)
    kept = [task.instance(rows, i).meta["held_out_wordings"] for i in range(COUNT)]
    assert np.mean(kept) == pytest.approx(5 / WORDINGS, abs=0.2)  # of five sentences
    _, free = made(knob=3)
    assert (rows.input_ids == free.input_ids).all()


@pytest.mark.parametrize("limit", [10, 100])
def test_no_number_is_beyond_the_limit(limit: int) -> None:
    task, rows = made(limit=limit, count=4096)
    numbers = [int(token) for token in np.array(task.vocab.tokens)[np.unique(rows.input_ids)] if token.isdigit()]
    assert min(numbers) == 1
    assert 0.9 * limit <= max(numbers) <= limit


def test_the_last_number_is_enough_for_a_lenient_grade() -> None:
    task = Wordmath()
    rows = task.read("Ana has 5 apples . Then she finds 3 apples . How many apples does Ana have ?")

    def grade(answer: str) -> tuple[bool, bool]:
        found = task.grade(rows, 0, task.vocab.encode(answer))
        return found.exact, found.lenient

    assert grade("5 + 3 = 8 . #### 8 <eos>") == (True, True)
    assert grade("5 + 2 = 8 . #### 8 <eos>") == (False, True)
    assert grade("#### 8 <eos>") == (False, True)
    assert grade("5 + 3 = 8 . #### 9 <eos>") == (False, False)
    assert grade("5 + 3 = 8 . 8 8 <eos>") == (False, False)
    assert grade("5 + 3 = 8 . 8 8 ####") == (False, False)
    assert grade("") == (False, False)
    final = Wordmath(WordmathConfig(answer="final"))
    assert [final.grade(rows.take(slice(0, 1)), 0, final.vocab.encode(text)).lenient for text in ("8 8", "9", "")] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clauses": ()}, "between 1 and 11, not none"),
        ({"clauses": (0, 1)}, "not 0 1"),
        ({"clauses": (2, 1)}, "ascending"),
        ({"clauses": (1, 1)}, "distinct"),
        ({"clauses": (3, 12)}, "not 3 12"),
        ({"answer": "step"}, "unknown answer 'step': did you mean 'steps'"),
        ({"story": "event"}, "unknown story 'event': did you mean 'events'"),
        ({"distractors": -1}, "between 0 and 10, not -1"),
        ({"limit": 9}, "limit must be between 10 and 1000, not 9"),
    ],
)
def test_contradictions_are_refused(options: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        WordmathConfig(**options)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("Ana has 5 pears .", "unknown token 'pears'"),
        ("Ana has 5 apples . <ans> 5 <ans>", "a sentence without its end: '<ans> 5'"),
        ("Ana has 21 apples .", "unknown token '21'"),
        (
            "Ana has 2 apples ."
            + 6 * " Then she finds 2 apples . Then she loses 2 apples ."
            + " Ana has how many apples ?",
            "C = 12",
        ),
    ],
)
def test_what_is_no_question_is_refused(question: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Wordmath().read(question)


def test_every_sentence_can_occur() -> None:
    task, rows = made(story="both", distractors=1, count=500)
    met = {recognise(text.split())[0].text for i in range(500) for text in sentences(task, rows, i)}  # type: ignore[index]
    assert met == {sentence.text for sentence in SENTENCES}
