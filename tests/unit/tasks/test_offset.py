"""Rows that begin with more <bos>: the same instances, elsewhere."""

import numpy as np
import pytest

from anira.evaluation.overlap import Overlap
from anira.tasks import make_task
from anira.tasks.offset import OffsetTask, moved, without_offset

NAMES = ["mano", "brevo", "depo", "words", "wordmath", "clrs"]


def pair(name):
    config = {"tasks": ["minimum", "sort"], "sizes": [3, 4]} if name == "clrs" else None
    return make_task(name, config), OffsetTask(make_task(name, config), 5)


@pytest.mark.parametrize("name", NAMES)
def test_the_instances_are_those_of_the_task_itself(name):
    plain, offset = pair(name)
    address = {"seed": 3, "stream": "eval", "start": 4090, "count": 20}  # over the end of a block
    rows, expected = offset.rows(**address), plain.rows(**address)
    back = without_offset(rows)
    np.testing.assert_array_equal(back.lengths, expected.lengths)
    np.testing.assert_array_equal(back.input_ids, expected.input_ids)
    np.testing.assert_array_equal(back.labels, expected.labels)
    np.testing.assert_array_equal(rows.knob, expected.knob)
    for i in range(20):
        before = int(rows.lengths[i] - expected.lengths[i])
        assert rows.ids(i) == [plain.vocab.id("<bos>")] * before + expected.ids(i)
        assert rows.answer(i) == expected.answer(i)
        assert rows.answer_positions(i) == [place + before for place in expected.answer_positions(i)]
        assert offset.instance(rows, i) == plain.instance(expected, i)
        assert offset.grade(rows, i, rows.answer(i)).exact
        assert not offset.grade(rows, i, []).exact
        for probe, values in plain.probes(expected, i).items():
            got = offset.probes(rows, i)[probe]
            assert len(got) == rows.lengths[i]
            assert np.isnan(got[:before]).all()
            np.testing.assert_array_equal(got[before:], values)


def test_every_offset_is_as_likely_and_independent_of_the_knob():
    plain, offset = pair("mano")
    address = {"seed": 0, "stream": "train", "start": 0, "count": 40_000}
    rows = offset.rows(**address)
    offsets = rows.lengths - plain.rows(**address).lengths
    counts = np.bincount(offsets, minlength=6)
    assert len(counts) == 6
    assert abs(counts / 40_000 - 1 / 6).max() < 4 * np.sqrt(5 / 36 / 40_000)
    assert abs(np.corrcoef(offsets, rows.knob)[0, 1]) < 4 / np.sqrt(40_000)


def test_rows_are_the_same_however_they_are_reached():
    _, offset = pair("brevo")
    whole = offset.rows(seed=1, stream="train", start=0, count=10)
    for i in range(10):
        one = offset.rows(seed=1, stream="train", start=i, count=1)
        assert one.ids(0) == whole.ids(i)


def test_a_mixture_is_moved_part_by_part():
    plain, offset = pair("clrs")
    assert [part.subtask for part in offset.parts()] == [part.subtask for part in plain.parts()]
    assert all(isinstance(part, OffsetTask) for part in offset.parts())
    mano = pair("mano")[1]
    assert list(mano.parts()) == [mano]


def test_a_question_typed_by_hand_is_not_moved():
    plain, offset = pair("mano")
    assert offset.read("+ 1 2").ids(0) == plain.read("+ 1 2").ids(0)


def test_what_training_has_read_is_known_wherever_it_stands():
    _, offset = pair("mano")
    rows = offset.rows(seed=0, stream="train", start=0, count=50)
    elsewhere = moved(without_offset(rows), np.arange(50) % 3, offset.vocab.id("<bos>"))
    assert all(Overlap(offset, seed=0, rows=50).seen(elsewhere))


def test_rows_without_offset_are_left_as_they_are():
    rows = make_task("mano").rows(seed=0, stream="train", start=0, count=5)
    assert without_offset(rows) is rows
