"""Worked MANO instances: the text of the row, the value and every probe, worked out by hand."""

import hashlib

import numpy as np
import pytest

from anira.tasks.mano import Mano, ManoConfig
from benchmarks.plain import mano as plain

# Two rows as the reference generator writes them, with its token ids.
FIRST = "9999 30 1 1 5005 5003 2 5012 5017 34 5003"
SECOND = "9999 40 3 5011 3 5016 1 5002 2 5002 5007 44 5001"


def translate(reference: str) -> list[str]:
    """Return the words of a reference row: 1 2 3 are + - *, 5000 + v is the value v, 10 L and 10 L + 4 mark L."""
    start, length, *expression, answer, value = map(int, reference.split())
    assert (start, length + 4) == (9999, answer)
    symbols = [str(token - 5000) if token >= 5000 else "+-*"[token - 1] for token in expression]
    return ["<bos>", f"<len-{length // 10:02d}>", *symbols, f"<ans-{length // 10:02d}>", str(value - 5000)]


@pytest.mark.parametrize(
    ("expression", "value", "infix"),
    [
        ("+ + 5 3 - 12 17", "3", "(5 + 3) + (12 - 17)"),  # 8 + 18 = 26 = 3
        ("* 11 * 16 + 2 - 2 7", "1", "11 * (16 * (2 + (2 - 7)))"),  # 18, 20, 320 = 21, 231 = 1
    ],
)
def test_text_and_value_of_a_worked_row(expression: str, value: str, infix: str) -> None:
    task = Mano()
    rows = task.read(expression)
    assert task.vocab.decode(rows.ids(0)) == f"<bos> {expression} <ans> {value} <eos>"
    assert rows.answer(0) == [task.vocab.id(value)]
    assert rows.answer_positions(0) == [len(expression.split()) + 2]
    assert plain.solve(expression.split(), 23) == int(value)
    ids, labels = plain.write(expression.split(), int(value), ManoConfig())
    assert (ids, labels) == (rows.ids(0), rows.labels[0].tolist())
    instance = task.instance(rows, 0)
    assert (instance.question, instance.answer) == (f"{expression} <ans>", value)
    assert instance.picture == f"{infix} = {value} (mod 23)"


@pytest.mark.parametrize(("reference", "size"), [(FIRST, 3), (SECOND, 4)])
def test_rows_of_the_reference_generator(reference: str, size: int) -> None:
    task = Mano(ManoConfig(length_tokens=True))
    *question, value = translate(reference)
    rows = task.read(" ".join(question))
    assert task.vocab.decode(rows.ids(0)).split() == [*question, value, "<eos>"]
    assert (rows.knob[0], rows.answer(0)) == (size, [task.vocab.id(value)])


def check_probes(expression: str, **wanted: list[int]) -> None:
    """Compare at the tokens of the expression; everywhere else probes must be undefined."""
    task = Mano()
    rows = task.read(expression)
    probes, length = task.probes(rows, 0), len(expression.split())
    assert set(probes) == set(wanted) == {probe.name for probe in task.probe_specs}
    assert {probe.anchor for probe in task.probe_specs} == {"input"}
    for name, values in probes.items():
        assert len(values) == rows.lengths[0], name
        assert values[1 : length + 1].tolist() == wanted[name], name
        assert np.isnan(values[[0, *range(length + 1, length + 4)]]).all(), name


def test_probes_of_the_first_instance() -> None:
    check_probes(
        "+ + 5 3 - 12 17",
        stack_depth=[0, 1, 2, 2, 1, 2, 2],
        remaining_operands=[0, 2, 2, 1, 1, 2, 1],  # 0 at the root, which is nobody's operand
        completed_size=[0, 0, 0, 0, 1, 0, 0],  # 3 closes 5 + 3
        completed_sum=[0, 0, 0, 0, 1, 0, 0],
        is_operator=[1, 1, 0, 0, 1, 0, 0],
    )


def test_probes_of_the_second_instance() -> None:
    check_probes(
        "* 11 * 16 + 2 - 2 7",
        stack_depth=[0, 1, 1, 2, 2, 3, 3, 4, 4],
        remaining_operands=[0, 2, 1, 2, 1, 2, 1, 2, 1],
        completed_size=[0] * 9,  # nothing closes before the last token
        completed_sum=[0] * 9,
        is_operator=[1, 0, 1, 0, 1, 0, 1, 0, 0],
    )


def test_probes_where_one_token_closes_two_subtrees() -> None:
    # The 2 closes 1 + 2 and with it 3 * (1 + 2): one operator, and two.
    check_probes(
        "+ * 3 + 1 2 4",
        stack_depth=[0, 1, 2, 2, 3, 3, 1],
        remaining_operands=[0, 2, 2, 1, 2, 1, 1],
        completed_size=[0, 0, 0, 0, 0, 0, 2],
        completed_sum=[0, 0, 0, 0, 0, 0, 3],
        is_operator=[1, 1, 0, 1, 0, 0, 0],
    )


def test_probes_where_the_largest_closed_subtree_is_not_all_that_closed() -> None:
    # The 4 closes 3 - 4 (one operator) and (1 + 2) * (3 - 4) (three), the 2 before it only 1 + 2.
    check_probes(
        "+ * + 1 2 - 3 4 5",
        stack_depth=[0, 1, 2, 3, 3, 2, 3, 3, 1],
        remaining_operands=[0, 2, 2, 2, 1, 1, 2, 1, 1],
        completed_size=[0, 0, 0, 0, 0, 1, 0, 0, 3],
        completed_sum=[0, 0, 0, 0, 0, 1, 0, 0, 4],
        is_operator=[1, 1, 1, 0, 0, 1, 0, 0, 0],
    )


def test_height_of_the_worked_instances() -> None:
    task = Mano()
    heights = [
        task.instance(task.read(text), 0).meta["height"] for text in ("+ 1 2", "+ + 5 3 - 12 17", "+ 1 + 1 + 1 1")
    ]
    assert heights == [1, 2, 3]


def test_vocabulary_is_fixed() -> None:
    words = "<pad> <eos> <bos> <ans> + - * 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22"
    assert Mano().vocab.tokens == tuple(words.split())


def test_rows_never_change() -> None:
    # These rows are what trained models saw. If this digest has to change, say so in CHANGELOG.md.
    rows = Mano().rows(seed=0, stream="train", start=0, count=64)
    text = repr([(rows.ids(i), rows.answer(i), int(rows.knob[i])) for i in range(64)])
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "1fd1b9d42ee4acc5"
