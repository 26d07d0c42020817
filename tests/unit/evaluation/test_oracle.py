"""Oracle depth: on planted tables of forced depths, and against evaluations at every depth."""

import numpy as np
import pytest
from tests.unit.evaluation.evaluation_support import TASKS, evaluated, model_for

from anira.evaluation.oracle import oracle_depths, smallest_sufficient


@pytest.mark.parametrize(
    ("right", "depth"),
    [("1111", 1), ("0111", 2), ("0011", 3), ("0001", 4), ("0000", 5), ("1101", 4), ("1110", 5), ("1011", 3)],
)
def test_a_lucky_guess_that_is_lost_again_does_not_count(right: str, depth: int) -> None:
    table = np.array([digit == "1" for digit in right])
    assert smallest_sufficient(table) == depth
    assert smallest_sufficient(np.stack([table, table], axis=1)[:, None]).tolist() == [[depth, depth]]


@pytest.mark.parametrize("name", ["mano", "depo"])
def test_it_is_read_off_evaluations_at_every_depth(name: str, tmp_path) -> None:
    task = TASKS[name]
    model = model_for(task, max_depth=3)
    knob = task.knob.seen[0]
    rows = task.rows(seed=0, stream="eval", start=0, count=12, knob=knob)
    found = oracle_depths(model, task, rows, batch_size=5)
    tables = [evaluated(model, task, tmp_path / str(d), knobs=(knob,), override=f"depth-{d}") for d in range(1, 4)]
    right = np.array([instances["correct"].to_numpy() for instances, _ in tables])
    assert found.instances.tolist() == smallest_sufficient(right).tolist()
    assert found.solved.tolist() == right[-1].tolist()
    for i in range(len(rows)):
        answers = [tokens.filter(instance_id=i, target_kind="answer") for _, tokens in tables]
        where = answers[0]["position"].to_list()
        each = np.array([table["correct"].to_list() for table in answers])
        assert found.tokens[i, where].tolist() == smallest_sufficient(each).tolist()
        assert found.tokens[i].astype(bool).sum() == len(where)
        # A row is right where all its tokens are, so it needs what the most demanding of them needs.
        assert found.instances[i] == found.tokens[i].max()
