"""Instances that training never reads."""

import numpy as np
import pytest

from anira.config import UserError
from anira.evaluation.overlap import Overlap
from anira.tasks import make_task
from anira.tasks.held_out import HeldOutTask
from anira.tasks.offset import OffsetTask, moved

SMALL = {"mano": {"modulus": 2, "min_size": 1, "max_size": 3}, "brevo": {"min_nodes": 3, "max_nodes": 5}, "depo": None}
CLRS = {"tasks": ["minimum", "sort"], "sizes": [3, 4]}


@pytest.mark.parametrize("name", SMALL)
def test_training_rows_have_no_held_out_instance_and_the_others_have_their_share(name):
    task = HeldOutTask(make_task(name, SMALL[name]), 0.2)
    rows = task.rows(seed=1, stream="train", start=0, count=6000)
    assert not task.held_out(rows).any()
    evaluated = task.rows(seed=1, stream="eval", start=0, count=4000)
    questions = {tuple(np.where(evaluated.labels[i] == -100, evaluated.input_ids[i], 0)) for i in range(4000)}
    assert abs(task.held_out(evaluated).mean() - 0.2) < 4 * np.sqrt(0.16 / len(questions)) + 0.02


def test_rows_that_are_not_held_out_stay_where_they_were():
    plain = make_task("mano", SMALL["mano"])
    task = HeldOutTask(plain, 0.1)
    before, after = (one.rows(seed=0, stream="train", start=100, count=500) for one in (plain, task))
    same = [before.ids(i) == after.ids(i) for i in range(500)]
    np.testing.assert_array_equal(same, ~task.held_out(before))


def test_the_same_instances_are_held_out_whatever_the_seed_and_wherever_they_stand():
    task = HeldOutTask(make_task("mano", SMALL["mano"]), 0.3)
    moving = OffsetTask(task, 4)
    rows = task.rows(seed=0, stream="eval", start=0, count=300)
    elsewhere = moved(rows, np.arange(300) % 5, task.vocab.id("<bos>"))
    np.testing.assert_array_equal(moving.held_out(elsewhere), task.held_out(rows))
    read = Overlap(moving, seed=5, rows=5000).seen(rows)
    assert not (np.array(read) & task.held_out(rows)).any()
    assert np.array(read)[~task.held_out(rows)].mean() > 0.9  # so few instances that training has seen nearly all


def test_a_mixture_holds_out_in_every_part():
    task = HeldOutTask(make_task("clrs", CLRS), 0.5)
    assert [part.subtask for part in task.parts()] == ["minimum", "sort"]
    for part in task.parts():
        assert not part.held_out(part.rows(seed=0, stream="train", start=0, count=300)).any()


def test_what_cannot_be_held_out_is_refused():
    with pytest.raises(UserError, match="held_out needs a question before its answer"):
        HeldOutTask(make_task("words"), 0.1)
    with pytest.raises(UserError, match="held_out needs a question before its answer"):
        HeldOutTask(make_task("lano"), 0.1)
    tiny = HeldOutTask(make_task("mano", {"modulus": 2, "min_size": 1, "max_size": 1}), 0.99)
    with pytest.raises(UserError, match="leaves too little to train on"):
        tiny.rows(seed=0, stream="train", start=0, count=10)
