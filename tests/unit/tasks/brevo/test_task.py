import re

import numpy as np
import pytest

from anira.config import UserError
from anira.tasks.brevo import Brevo, BrevoConfig


def knobs(config: BrevoConfig) -> np.ndarray:
    return Brevo(config).rows(seed=0, stream="train", start=0, count=4096).knob


def answer_lengths(task: Brevo, knob: int) -> np.ndarray:
    return (task.rows(seed=0, stream="eval", start=0, count=1000, knob=knob).labels != -100).sum(axis=1)


def test_max_nodes_sets_the_names_the_sizes_and_the_longest_search() -> None:
    small, large = Brevo(BrevoConfig(max_nodes=8)), Brevo(BrevoConfig(max_nodes=60))
    assert (len(small.vocab), len(large.vocab)) == (13, 65)
    assert (small.knob.seen, small.knob.maximum) == (tuple(range(3, 9)), 8)
    assert (large.knob.seen[-1], large.knob.maximum) == (60, 60)
    assert knobs(small.config).max() == 8
    assert knobs(large.config).max() == 60
    assert answer_lengths(large, 60).mean() > 2 * answer_lengths(small, 8).mean()
    with pytest.raises(UserError, match="it goes from 2 to 8"):
        small.rows(seed=0, stream="train", start=0, count=1, knob=9)


@pytest.mark.parametrize(("max_nodes", "last"), [(9, "n09"), (99, "n99"), (100, "n100"), (255, "n255")])
def test_names_are_padded_with_zeros_to_one_width(max_nodes: int, last: str) -> None:
    names = Brevo(BrevoConfig(max_nodes=max_nodes)).vocab.tokens[5:]
    assert names[-1] == last
    assert {len(name) for name in names} == {len(last)}
    assert list(names) == sorted(names)


def test_min_nodes_sets_the_smallest_training_size() -> None:
    assert knobs(BrevoConfig()).min() == 3
    assert knobs(BrevoConfig(min_nodes=2)).min() == 2
    assert knobs(BrevoConfig(min_nodes=20)).min() == 20
    assert set(knobs(BrevoConfig(min_nodes=30)).tolist()) == {30}
    assert Brevo(BrevoConfig(min_nodes=20)).knob.split(10) == "extrapolation"


def test_size_law_shifts_training_sizes() -> None:
    # E[n] is 13.1 under the reference law and 16.5 under the uniform one; n has a standard deviation of about 8.
    error = 4 * 8 / np.sqrt(4096)
    assert abs(knobs(BrevoConfig(size_law="reference")).mean() - 13.1) < error
    assert abs(knobs(BrevoConfig(size_law="uniform")).mean() - 16.5) < error


def test_size_law_leaves_rows_with_a_fixed_knob_alone() -> None:
    one, other = (
        Brevo(BrevoConfig(size_law=law)).rows(seed=0, stream="eval", start=0, count=50, knob=12)
        for law in ("reference", "uniform")
    )
    assert (one.input_ids == other.input_ids).all()


@pytest.mark.parametrize("knob", [2, 3, 30])
def test_a_fixed_knob_sets_every_row(knob: int) -> None:
    task = Brevo()
    rows = task.rows(seed=0, stream="eval", start=0, count=200, knob=knob)
    assert set(rows.knob.tolist()) == {knob}
    visible = [task.instance(rows, i).meta["visible_nodes"] for i in range(200)]
    assert max(visible) == knob


def test_two_nodes_leave_one_question() -> None:
    task = Brevo()
    rows = task.rows(seed=0, stream="eval", start=0, count=20, knob=2)
    for i in range(20):
        assert re.fullmatch(r"(n\d\d) (n\d\d) <query> \2 <ans> = \1 <eos>", " = ".join(text_of(task, rows, i)))


def text_of(task: Brevo, rows, i: int) -> tuple[str, str]:
    instance = task.instance(rows, i)
    return instance.question, instance.answer


def test_the_largest_graphs_are_generated_and_solved() -> None:
    task = Brevo(BrevoConfig(max_nodes=255))
    rows = task.rows(seed=0, stream="eval", start=0, count=3, knob=255)
    for i in range(3):
        instance = task.instance(rows, i)
        assert task.read(instance.question).answer(0) == rows.answer(i)
        assert instance.meta["reachable_nodes"] == len(rows.answer(i))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_nodes": 2}, "max_nodes must be between 3 and 255, not 2"),
        ({"max_nodes": 256}, "max_nodes must be between 3 and 255, not 256"),
        ({"min_nodes": 1}, "min_nodes must be between 2 and max_nodes = 30, not 1"),
        ({"min_nodes": 9, "max_nodes": 8}, "min_nodes must be between 2 and max_nodes = 8, not 9"),
        ({"size_law": "unifrom"}, "unknown size_law 'unifrom': did you mean 'uniform'?"),
    ],
)
def test_contradictory_options_are_refused(options: dict, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        BrevoConfig(**options)


def test_a_question_read_back_gives_the_row() -> None:
    task = Brevo()
    rows = task.rows(seed=0, stream="train", start=0, count=100)
    for i in range(100):
        instance = task.instance(rows, i)
        again = task.read(instance.question)
        assert again.ids(0) == rows.ids(i)
        assert again.knob[0] == instance.meta["visible_nodes"] <= rows.knob[i]
        assert task.grade(rows, i, task.vocab.encode(instance.answer)).exact


def test_streams_and_seeds_give_other_rows() -> None:
    task = Brevo()
    addresses = [(0, "train"), (0, "valid"), (0, "eval"), (1, "train")]
    texts = [task.rows(seed=seed, stream=stream, start=0, count=4).input_ids.tobytes() for seed, stream in addresses]
    assert len(set(texts)) == len(addresses)


def test_picture_shows_every_edge_the_query_needs() -> None:
    task = Brevo()
    rows = task.rows(seed=0, stream="train", start=0, count=50)
    for i in range(50):
        instance = task.instance(rows, i)
        lines = [line for line in instance.picture.splitlines() if " <- " in line]
        assert lines[0].startswith(instance.question.split()[-2])
        shown = {f"{parent} {line[:3]}" for line in lines for parent in line.split(" <- ")[1].split()}
        words = instance.question.split()[:-3]
        assert shown <= {f"{a} {b}" for a, b in zip(words[::2], words[1::2], strict=True)}
        assert len(shown) == instance.meta["reachable_edges"]
