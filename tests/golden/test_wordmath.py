"""Worked word problems: the text of rows, the steps and every probe, worked out by hand."""

import hashlib

import numpy as np
import pytest

from anira.tasks.base import Rows
from anira.tasks.wordmath import Wordmath, WordmathConfig
from benchmarks.plain import wordmath as plain

EVENTS = "Ana has 5 apples . Then she finds 3 apples . She gives half to a friend . How many apples does Ana have ?"
COMPARISONS = (
    "Ben has 2 fewer coins than Ida . Ida owns twice what Leo has . Leo counts 4 coins . Ben has how many coins ?"
)


@pytest.mark.parametrize(
    ("question", "answer", "picture", "meta"),
    [
        (
            EVENTS,
            "5 + 3 = 8 . 8 / 2 = 4 . #### 4 <eos>",
            "5 + 3 / 2 = 4 apples, from left to right",
            {"scalings": 1, "held_out_wordings": 0},
        ),
        (
            COMPARISONS,
            "Ida : 4 * 2 = 8 . Ben : 8 - 2 = 6 . #### 6 <eos>",
            "4 * 2 - 2 = 6 coins, from left to right",
            {"scalings": 1, "held_out_wordings": 2},
        ),
        (
            "Hugo owns 9 books . 3 of the books are old . Later 6 of them get lost . How many books has Hugo got ?",
            "9 - 6 = 3 . #### 3 <eos>",
            "9 - 6 = 3 books, from left to right",
            {"scalings": 0, "held_out_wordings": 1},
        ),
    ],
)
def test_text_of_a_worked_row(question: str, answer: str, picture: str, meta: dict) -> None:
    task = Wordmath()
    rows = task.read(question)
    assert task.vocab.decode(rows.ids(0)) == f"<bos> {question} <ans> {answer}"
    assert task.vocab.decode(rows.answer(0)) == answer
    instance = task.instance(rows, 0)
    assert (instance.question, instance.answer) == (f"{question} <ans>", answer)
    assert (instance.picture, instance.meta) == (picture, meta)
    final = Wordmath(WordmathConfig(answer="final"))
    assert final.vocab.decode(final.read(question).answer(0)) == answer[answer.index("####") + 5 :]
    assert plain.write(question.split(), plain.solve(question.split()), task.config)[0] == rows.ids(0)


def probes(question: str, **options: object) -> dict[str, list[str]]:
    """Return the probes of a worked problem as they are drawn: story and answer."""
    task = Wordmath(WordmathConfig(**options))  # type: ignore[arg-type]
    values = task.probes(task.read(question), 0)
    assert list(values) == [probe.name for probe in task.probe_specs]
    return {name: ["." if np.isnan(value) else f"{value:g}" for value in found] for name, found in values.items()}


def test_probes_of_events() -> None:
    found = probes(EVENTS)
    #           <bos> Ana has 5 apples .  Then she finds 3 apples .  She gives half to a friend .  How .. ? <ans>
    told = {
        "clause_read": ". 0 0 0 0 0  1 1 1 1 1 1  2 2 2 2 2 2 2  . . . . . . .  .",
        "operations_told": ". 0 0 0 0 0  1 1 1 1 1 1  2 2 2 2 2 2 2  2 2 2 2 2 2 2  .",
        "value_read": ". . . . . 5  . . . . . 8  . . . . . . 4  . . . . . . .  .",
    }
    #           5 + 3 = 8 .  8 / 2 = 4 .  #### 4 <eos>
    written = {
        "clause_needed": "0 1 1 . 1 .  1 2 2 . 2 .  . 2 .",
        "operations_left": "2 2 2 2 2 1  1 1 1 1 1 0  0 0 0",
        "lookups": "1 1 1 0 0 0  0 1 1 0 0 0  0 0 0",
        "work": "0 0 0 0 1 0  0 0 0 0 1 0  0 0 0",
    }
    assert {name: found[name] for name in told} == {name: [*text.split(), *["."] * 15] for name, text in told.items()}
    assert {name: found[name] for name in written} == {
        name: [*["."] * 27, *text.split()] for name, text in written.items()
    }


def test_probes_of_comparisons_in_another_order() -> None:
    found = probes(COMPARISONS)
    #                Ben has 2 fewer coins than Ida .  Ida owns twice what Leo has .  Leo counts 4 coins .
    assert found["clause_read"][1:21] == list("22222222111111100000")
    assert found["operations_told"][1:21] == list("11111111222222222222")
    # Nothing can be worked out before Leo's number is told.
    assert found["value_read"][1:21] == list("." * 19 + "4")
    #       Ida : 4 * 2 = 8 .  Ben : 8 - 2 = 6 .  #### 6 <eos>
    assert found["clause_needed"][-19:] == list("1.011.1.2.122.2..2.")
    assert found["lookups"][-19:] == list("1011100010011000000")
    assert found["work"][-19:] == list("0000001000000010000")


def test_an_answer_without_steps_leaves_all_work_to_the_number() -> None:
    found = probes(EVENTS, answer="final")
    assert [found[name][-3:] for name in ("clause_needed", "operations_left", "lookups", "work")] == [
        [".", "2", "."],
        [".", "2", "0"],
        [".", "3", "0"],
        [".", "2", "0"],
    ]


def test_anchors() -> None:
    anchors = {probe.name: probe.anchor for probe in Wordmath().probe_specs}
    assert {name for name, anchor in anchors.items() if anchor == "input"} == {
        "clause_read",
        "operations_told",
        "value_read",
    }


def test_vocabulary_is_fixed() -> None:
    tokens = Wordmath().vocab.tokens
    assert tokens[:11] == ("<pad>", "<bos>", "<eos>", "<ans>", "####", "+", "-", "*", "/", "=", ":")
    assert tokens[11:31] == tuple(map(str, range(1, 21)))
    assert len(tokens) == 111
    assert hashlib.sha256(" ".join(tokens).encode()).hexdigest()[:16] == "01dc6dd8378caaef"


def test_rows_never_change() -> None:
    # These rows are what models were trained on and judged by. If a digest has to change, say so in CHANGELOG.md.
    train = Wordmath().rows(seed=0, stream="train", start=0, count=64)
    fixed = Wordmath().rows(seed=0, stream="eval", start=0, count=64, knob=6)
    other = Wordmath(WordmathConfig(story="both", distractors=2, answer="final", held_out_wording=True, limit=30))
    assert digest(train) == "5fa7d7fabcb6a558"
    assert digest(fixed) == "29dc83dc088c95ff"
    assert digest(other.rows(seed=0, stream="train", start=0, count=64)) == "9dbedbf0aaeeb622"


def digest(rows: Rows) -> str:
    text = repr([(rows.ids(i), rows.answer(i), int(rows.knob[i])) for i in range(len(rows))])
    return hashlib.sha256(text.encode()).hexdigest()[:16]
