"""MANO on expressions that hypothesis draws: values against Python's arithmetic, probes against their definitions."""

import random
from typing import NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from anira.config import UserError
from anira.tasks.base import Rows
from anira.tasks.mano import Mano, ManoConfig
from benchmarks.plain import mano as plain

Words = list[str]

TASK = Mano()
WITH_LENGTHS = Mano(ManoConfig(length_tokens=True))
WITH_TWINS = Mano(ManoConfig(synonyms=True))
quick = settings(deadline=None)


def expressions(modulus: int = 23, operators: str = "+-*") -> st.SearchStrategy[Words]:
    """Draw a prefix expression of any shape with at least one operator."""

    def join(parts: st.SearchStrategy[Words]) -> st.SearchStrategy[Words]:
        return st.builds(
            lambda operator, left, right: [operator, *left, *right], st.sampled_from(operators), parts, parts
        )

    operand = st.integers(0, modulus - 1).map(lambda value: [str(value)])
    return join(st.recursive(operand, join, max_leaves=12))


def infix_value(task: Mano, rows: Rows, i: int) -> int:
    """Return what Python makes of the picture."""
    infix, _, _ = task.instance(rows, i).picture.partition(" = ")
    return int(eval(infix)) % task.config.modulus


@quick
@given(expressions())
def test_values_agree_with_python(words: Words) -> None:
    rows = TASK.read(" ".join(words))
    value = infix_value(TASK, rows, 0)
    assert rows.answer(0) == [TASK.vocab.id(str(value))]
    assert plain.solve(words, 23) == value
    assert plain.write(words, value, TASK.config) == (rows.ids(0), rows.labels[0].tolist())
    assert rows.knob[0] == sum(word in "+-*" for word in words)


@quick
@given(st.integers(2, 40), st.sampled_from(["+", "-*", "*-+"]), st.data())
def test_values_agree_with_python_for_any_modulus_and_operators(
    modulus: int, operators: str, data: st.DataObject
) -> None:
    task = Mano(ManoConfig(modulus=modulus, operators=tuple(operators)))
    words = data.draw(expressions(modulus, operators))
    rows = task.read(" ".join(words))
    value = infix_value(task, rows, 0)
    assert task.vocab.decode(rows.answer(0)) == str(value)
    assert plain.write(words, value, task.config) == (rows.ids(0), rows.labels[0].tolist())


@quick
@given(st.integers(0, 2**32), st.integers(0, 10**9), st.integers(2, 40), st.integers(1, 40))
def test_generated_rows_are_solved_by_the_plain_solver(seed: int, start: int, modulus: int, size: int) -> None:
    task = Mano(ManoConfig(modulus=modulus))
    rows = task.rows(seed=seed, stream="valid", start=start, count=4, knob=size)
    for i in range(4):
        words = task.vocab.decode(rows.ids(i)).split()
        value = plain.solve(words[1:-3], modulus)
        assert (rows.ids(i), rows.labels[i].tolist()) == plain.write(words[1:-3], value, task.config)
        assert value == infix_value(task, rows, i)
        assert rows.knob[i] == size == sum(word in "+-*" for word in words)


@quick
@given(st.integers(), st.one_of(st.none(), st.integers(1, 40)))
def test_rows_of_the_plain_generator_are_read_back(seed: int, knob: int | None) -> None:
    ids, labels = plain.generate(random.Random(seed), TASK.config, knob)
    rows = TASK.read(TASK.vocab.decode(ids[1:-3]))
    assert (rows.ids(0), rows.labels[0].tolist()) == (ids, labels)
    assert rows.knob[0] == knob or (knob is None and 3 <= rows.knob[0] <= 16)


class Span(NamedTuple):
    """A subtree with an operator at its root: words start .. end - 1."""

    start: int
    end: int
    operands: list[int]  # where its two operands end


def spans(words: Words) -> list[Span]:
    """Return all operator subtrees; a subtree ends where operands first outnumber operators."""
    out = []
    for start, word in enumerate(words):
        if word in "+-*":
            left = subtree_end(words, start + 1)
            end = subtree_end(words, left)
            out.append(Span(start, end, [left, end]))
    return out


def subtree_end(words: Words, start: int) -> int:
    excess, end = 0, start
    while excess < 1:
        excess += -1 if words[end] in "+-*" else 1
        end += 1
    return end


@quick
@given(expressions())
def test_probes_follow_their_definitions(words: Words) -> None:
    probes = TASK.probes(TASK.read(" ".join(words)), 0)
    subtrees = spans(words)
    for t, word in enumerate(words):
        opened = [span for span in subtrees if span.start < t < span.end]
        innermost = max(opened, default=None)
        closed = [(span.end - span.start) // 2 for span in subtrees if span.end == t]
        found = {name: values[1 + t] for name, values in probes.items()}
        assert found == {
            "stack_depth": len(opened),
            "remaining_operands": sum(end > t for end in innermost.operands) if innermost else 0,
            "completed_size": max(closed, default=0),
            "completed_sum": sum(closed),
            "is_operator": word in "+-*",
        }


@quick
@given(st.integers(0, 4095), st.sampled_from([TASK, WITH_LENGTHS]))
def test_a_question_reads_back_as_its_row(start: int, task: Mano) -> None:
    rows = task.rows(seed=3, stream="train", start=start, count=1)
    again = task.read(task.instance(rows, 0).question)
    assert again.ids(0) == rows.ids(0)
    assert again.answer(0) == rows.answer(0)


@quick
@given(st.lists(st.sampled_from([*TASK.vocab.tokens, "x", "23", "-1"]), max_size=9))
def test_any_other_text_is_an_error_of_the_user(words: Words) -> None:
    try:
        rows = TASK.read(" ".join(words))
    except UserError as error:
        assert "\n" not in str(error)
    else:
        # What was accepted is an expression: nothing of it was dropped but the marks around it.
        assert [word for word in words if word not in ("<bos>", "<ans>")] == TASK.vocab.decode(rows.ids(0)).split()[
            1:-3
        ]


@quick
@given(expressions(), st.integers(0, 29))
def test_only_the_value_is_graded_right(words: Words, token: int) -> None:
    rows = TASK.read(" ".join(words))
    right = token == TASK.vocab.id(str(plain.solve(words, 23)))
    grade = TASK.grade(rows, 0, [token, TASK.vocab.id("<eos>")])
    assert (grade.exact, grade.lenient) == (right, right)
    assert not TASK.grade(rows, 0, []).exact


@quick
@given(st.integers(0, 4095))
def test_twins_hide_nothing_from_the_solver(start: int) -> None:
    rows = WITH_TWINS.rows(seed=5, stream="train", start=start, count=1)
    plainly = WITH_TWINS.read(WITH_TWINS.instance(rows, 0).question)
    assert plainly.answer(0) == rows.answer(0)
    for name, values in WITH_TWINS.probes(rows, 0).items():
        np.testing.assert_array_equal(values, WITH_TWINS.probes(plainly, 0)[name])
