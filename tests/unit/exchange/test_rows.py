import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anira.config import UserError
from anira.exchange.rows import CHUNK, Address, probe_values, row_values
from anira.tasks import Rows, make_task

MANO = make_task("mano")


def address(**changes):
    return Address(**{"seed": 0, "stream": "train", "start": 0, "count": 5, "knob": None, **changes})


@given(start=st.integers(0, 9000), count=st.integers(1, 3 * CHUNK))
def test_chunks_are_the_rows_cut_in_pieces(start, count):
    chunks = list(address(start=start, count=count).chunks(MANO))
    whole = MANO.rows(seed=0, stream="train", start=start, count=count)
    assert [begin for begin, _ in chunks] == list(range(start, start + count, CHUNK))
    assert max(len(rows) for _, rows in chunks) <= CHUNK
    np.testing.assert_array_equal(Rows.concat([rows for _, rows in chunks]).input_ids, whole.input_ids)


@pytest.mark.parametrize(
    "changes", [{"count": 0}, {"count": -3}, {"seed": -1}, {"seed": 2**63}, {"start": -1}, {"knob": 0}, {"knob": 10**6}]
)
def test_rows_that_do_not_exist_are_refused(changes):
    with pytest.raises(UserError):
        address(**changes).first(MANO)


def test_the_first_row_is_row_start():
    assert address(start=17).first(MANO).ids(0) == MANO.rows(seed=0, stream="train", start=0, count=18).ids(17)


def test_values_of_a_golden_row():
    values = row_values(MANO, MANO.read("+ + 5 3 - 12 17"), 0)
    assert values["question"] == "+ + 5 3 - 12 17 <ans>"
    assert values["answer"] == "3"
    assert (values["knob"], values["split"], values["meta"]) == (3, "seen", {"height": 2})
    assert MANO.vocab.decode(values["input_ids"]) == "<bos> + + 5 3 - 12 17 <ans> 3 <eos>"
    assert [label for label in values["labels"] if label != -100] == [MANO.vocab.id("3")]
    assert len(values["labels"]) == len(values["input_ids"])


def test_undefined_probes_are_none():
    depth = probe_values(MANO, MANO.read("+ 3 4"), 0)["stack_depth"]
    assert depth == [None, 0, 1, 1, None, None, None]


def test_a_vector_probe_is_a_list_a_token():
    task = make_task("brevo")
    rows = task.read("n01 n03 n02 n03 n03 n04 <query> n04")
    assert task.instance(rows, 0).answer.split()[:3] == ["n01", "n02", "n03"]
    first = rows.answer_positions(0)[0]
    positions = probe_values(task, rows, 0)["predecessor_positions"]
    assert positions[first + 2] == [first, first + 1]
    assert [value for value in positions if value is not None] == [[first, first + 1]]
