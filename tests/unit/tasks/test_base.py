"""Addressing rows: the same row however it is reached, for every task, and the small types around it."""

import json
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

from anira.config import UserError
from anira.tasks import BLOCK, BlockTask, Instance, Knob, Rows, Vocab, make_task
from anira.tasks.base import Floats, Ints, question_ids

several_tasks = pytest.mark.parametrize("name", ["mano", "depo", "words"])
both_sets = pytest.mark.parametrize("knob", [None, 3])


def same(one: Rows, other: Rows) -> bool:
    """Say whether two sets of rows are equal up to padding."""
    return len(one) == len(other) and all(
        one.ids(i) == other.ids(i)
        and one.answer(i) == other.answer(i)
        and one.answer_positions(i) == other.answer_positions(i)
        and one.knob[i] == other.knob[i]
        for i in range(len(one))
    )


def fetch(name: str, start: int, count: int, *, knob: int | None = None, seed: int = 0, stream: str = "train") -> Rows:
    """Return rows from a task that has made none before."""
    return make_task(name).rows(seed=seed, stream=stream, start=start, count=count, knob=knob)


@several_tasks
@both_sets
@pytest.mark.parametrize(
    ("start", "count"), [(0, 1), (17, 5), (BLOCK - 1, 1), (BLOCK - 3, 7), (BLOCK, 2), (BLOCK - 2, BLOCK + 5)]
)
def test_a_slice_holds_the_rows_it_names(name: str, knob: int | None, start: int, count: int) -> None:
    whole = make_task(name).rows(seed=0, stream="train", start=0, count=3 * BLOCK, knob=knob)
    assert same(fetch(name, start, count, knob=knob), whole.take(slice(start, start + count)))


@several_tasks
@both_sets
def test_a_row_alone_is_the_row_in_any_slice(name: str, knob: int | None) -> None:
    around = fetch(name, BLOCK - 8, 16, knob=knob)
    for i in range(16):
        assert same(fetch(name, BLOCK - 8 + i, 1, knob=knob), around.take(slice(i, i + 1)))


@several_tasks
def test_the_order_of_requests_does_not_matter(name: str) -> None:
    task = make_task(name)
    addresses = [
        (7 * BLOCK + 3, None, "eval"),
        (5, 3, "train"),
        (5, None, "train"),
        (2 * BLOCK, 2 + 1, "valid"),
        (9, None, "valid"),
    ]
    first = [task.rows(seed=1, stream=s, start=a, count=3, knob=k) for a, k, s in addresses]
    # More blocks than are kept: the first ones are made again.
    for block in range(6):
        task.rows(seed=2, stream="train", start=block * BLOCK, count=1)
    again = [task.rows(seed=1, stream=s, start=a, count=3, knob=k) for a, k, s in reversed(addresses)]
    assert all(same(one, other) for one, other in zip(first, reversed(again), strict=True))


PROGRAM = """
import json, sys
from anira.tasks import make_task
rows = make_task(sys.argv[1]).rows(seed=3, stream="valid", start=4090, count=12)
print(json.dumps([[rows.ids(i), rows.answer(i), int(rows.knob[i])] for i in range(12)]))
"""


@several_tasks
def test_another_process_sees_the_same_rows(name: str) -> None:
    output = subprocess.run([sys.executable, "-c", PROGRAM, name], capture_output=True, check=True, text=True).stdout
    rows = fetch(name, 4090, 12, seed=3, stream="valid")
    assert json.loads(output) == [[rows.ids(i), rows.answer(i), int(rows.knob[i])] for i in range(12)]


@several_tasks
def test_streams_seeds_knobs_and_blocks_differ(name: str) -> None:
    sets = [fetch(name, 0, 64, stream=stream, seed=seed) for stream in ("train", "valid", "eval") for seed in (0, 1)]
    sets += [fetch(name, BLOCK, 64), fetch(name, 0, 64, knob=3), fetch(name, 0, 64, knob=4)]
    texts = [tuple(tuple(rows.ids(i)) for i in range(64)) for rows in sets]
    assert len(set(texts)) == len(texts)
    # Not only as a whole: no row of one stream comes back at its place in another.
    assert not set(zip(range(64), texts[0], strict=True)) & set(zip(range(64), texts[2], strict=True))


@several_tasks
def test_numpy_integers_address_the_same_rows(name: str) -> None:
    plainly = fetch(name, 5, 3, seed=2, knob=4)
    numbers = make_task(name).rows(
        seed=np.int64(2), stream="train", start=np.int32(5), count=np.int64(3), knob=np.int64(4)
    )
    assert same(plainly, numbers)


@several_tasks
def test_what_is_written_into_rows_does_not_reach_later_ones(name: str) -> None:
    task = make_task(name)
    rows = task.rows(seed=0, stream="train", start=0, count=8)
    before = fetch(name, 0, 8)
    for values in (rows.input_ids, rows.labels, rows.lengths, rows.knob):
        values[:] = 7
    assert same(task.rows(seed=0, stream="train", start=0, count=8), before)


@several_tasks
def test_rows_are_cut_to_the_longest_of_them(name: str) -> None:
    task = make_task(name)
    for start in (0, 100, BLOCK - 2):
        rows = task.rows(seed=0, stream="train", start=start, count=4)
        assert rows.input_ids.shape == rows.labels.shape == (4, rows.lengths.max())


@several_tasks
@pytest.mark.parametrize(
    ("address", "message"),
    [
        ({"stream": "test"}, "unknown stream 'test'"),
        ({"stream": "evl"}, "did you mean 'eval'"),
        ({"seed": -1}, "seed and start must be at least 0"),
        ({"start": -1}, "seed and start must be at least 0"),
        ({"count": 0}, "count at least 1, not 0, 0, 0"),
        ({"knob": 0}, "= 0 is out of range: it goes from 1 to"),
        ({"knob": 1001}, "= 1001 is out of range"),
    ],
)
def test_bad_addresses_are_errors_of_the_user(name: str, address: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        make_task(name).rows(**{"seed": 0, "stream": "train", "start": 0, "count": 1, **address})


@several_tasks
def test_probes_have_one_value_a_token(name: str) -> None:
    task = make_task(name)
    rows = task.rows(seed=0, stream="eval", start=0, count=20)
    for i in range(20):
        probes = task.probes(rows, i)
        assert set(probes) == {probe.name for probe in task.probe_specs}
        assert {len(values) for values in probes.values()} == {rows.lengths[i]}
        assert not any(np.isnan(values).all() for values in probes.values())


@several_tasks
def test_grading_reads_the_supervised_tokens_only(name: str) -> None:
    task = make_task(name)
    rows = task.rows(seed=0, stream="eval", start=0, count=1)
    answer = rows.answer(0)
    assert task.grade(rows, 0, answer).exact
    assert task.grade(rows, 0, np.array([*answer, 1, 2, 3])).exact
    assert not task.grade(rows, 0, answer[:-1]).exact
    wrong = task.grade(rows, 0, [*answer[:-1], 0])
    assert (wrong.exact, wrong.lenient) == (False, False)


@dataclass(frozen=True, kw_only=True)
class ToyConfig:
    """Nothing to set."""


class Toy(BlockTask):
    """Row i is `<bos> i mod 10` a few times; every answer but the right one is leniently right."""

    name = "toy"
    summary = "a digit"
    Config = ToyConfig
    probe_specs = ()

    def __init__(self, config: ToyConfig | None = None) -> None:
        super().__init__(config)
        self.vocab = Vocab(["<pad>", "<bos>", *"0123456789"])
        self.knob = Knob(name="n", meaning="", cost="n", seen=(1, 3), minimum=1, maximum=5)
        self.calls: list[int] = []

    def generate(self, rng: np.random.Generator, index: Ints, knob: int | None) -> Rows:
        self.calls.append(int(index[0]))
        assert len(index) == BLOCK
        assert (np.diff(index) == 1).all()
        lengths = 2 + index % 3
        ids = np.where(np.arange(4) < lengths[:, None], 2 + (index % 10)[:, None], 0)
        ids[:, 0] = 1
        labels = np.where(np.arange(4) == 1, ids, -100)
        return Rows(ids, labels, lengths, np.full(len(index), knob or 1))

    def read(self, question: str) -> Rows:
        raise NotImplementedError

    def instance(self, rows: Rows, i: int) -> Instance:
        raise NotImplementedError

    def probes(self, rows: Rows, i: int) -> dict[str, Floats]:
        return {}

    def lenient(self, rows: Rows, i: int, given: list[int]) -> bool:
        return True


def test_a_block_is_made_once_while_it_is_in_use() -> None:
    toy = Toy()
    for start in (5, 17, BLOCK + 2, 5, BLOCK - 1):
        toy.rows(seed=0, stream="train", start=start, count=2)
    assert toy.calls == [0, BLOCK]
    for block in range(2, 6):
        toy.rows(seed=0, stream="train", start=block * BLOCK, count=1)
        toy.rows(seed=0, stream="train", start=0, count=1)  # in use: stays
    assert toy.calls == [block * BLOCK for block in range(6)]


class ShortBlocks(Toy):
    """The same rows, made fewer at a time."""

    block = 8

    def generate(self, rng: np.random.Generator, index: Ints, knob: int | None) -> Rows:
        assert len(index) == 8
        padded = np.arange(index[0], index[0] + BLOCK)
        return super().generate(rng, padded, knob).take(slice(0, 8))


def test_a_task_may_make_fewer_rows_at_a_time() -> None:
    short, toy = ShortBlocks(), Toy()
    for start, count in ((0, 3), (6, 4), (5, 30), (8, 8)):
        address = {"seed": 0, "stream": "train", "start": start, "count": count}
        assert same(short.rows(**address), toy.rows(**address))
    assert short.calls[:2] == [0, 8]


@pytest.mark.parametrize("name", ["mano", "brevo", "depo", "words", "wordmath"])
def test_a_task_that_is_only_one_is_its_own_part(name: str) -> None:
    task = make_task(name)
    assert list(task.parts()) == [task]
    assert task.subtask == ""


def test_a_lenient_rule_can_be_given() -> None:
    toy = Toy()
    rows = toy.rows(seed=0, stream="train", start=3, count=1)
    assert toy.grade(rows, 0, [5]).exact
    assert toy.grade(rows, 0, [6]) == type(toy.grade(rows, 0, [6]))(exact=False, lenient=True)


def test_rows_take_and_concat() -> None:
    toy = Toy()
    rows = toy.rows(seed=0, stream="train", start=0, count=4)
    assert rows.lengths.tolist() == [2, 3, 4, 2]
    short, chosen = rows.take(slice(0, 1)), rows.take(np.array([1, 3]))
    assert (short.input_ids.shape, chosen.input_ids.shape) == ((1, 2), (2, 3))
    joined = Rows.concat([short, chosen])
    assert joined.input_ids.tolist() == [[1, 2, 0], [1, 3, 3], [1, 5, 0]]
    assert joined.labels.tolist() == [[-100, 2, -100], [-100, 3, -100], [-100, 5, -100]]
    assert (joined.ids(0), joined.answer(0), joined.answer_positions(0)) == ([1, 2], [2], [1])


@pytest.mark.parametrize(
    ("value", "split"), [(4, "seen"), (8, "seen"), (6, "interpolation"), (3, "extrapolation"), (9, "extrapolation")]
)
def test_split_of_a_knob_value(value: int, split: str) -> None:
    assert Knob(name="n", meaning="", cost="n", seen=(4, 8), minimum=1, maximum=99).split(value) == split


@pytest.mark.parametrize("question", ["1 1", "<bos> 1 1", "1 1 <ans>", "<bos> 1 1 <ans>"])
def test_ends_of_a_typed_question_may_be_left_out(question: str) -> None:
    vocab = Vocab(["<pad>", "<bos>", "<ans>", "1"])
    assert question_ids(vocab, question, end="<ans>") == [1, 3, 3, 2]
