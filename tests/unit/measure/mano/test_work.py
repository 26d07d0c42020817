"""Work at equal L: a planted effect of the tree's height is found, and one of L is not taken for it."""

import polars as pl
import pytest
from tests.sealing_support import edit_table
from tests.unit.measure.parse_state_support import Questions, write_questions

from anira.measure.mano.work import work_rows
from anira.measure.records.loading import load_evaluation
from anira.measure.records.reading import read_records
from anira.measure.tidy import find, make_table


def table(folder, depth):
    """Give each answer the depth that an expression over the tokens of its instance has."""
    records = write_questions(folder, Questions(knobs=(1, 3, 5), n=60, accuracy=0.8))
    answer = pl.when(target_kind="answer").then(depth).otherwise(pl.col("exit_depth")).cast(pl.Int16)
    for path in records.glob("tokens-*.parquet"):
        edit_table(path, lambda tokens: tokens.with_columns(exit_depth=answer, executed=answer))
    return make_table(work_rows(read_records(load_evaluation(records))))


def test_height_moves_depth_at_equal_size(tmp_path):
    height = pl.col("probe_stack_depth").max().over("instance_id")
    found = table(tmp_path, 2 * height + 3 * pl.col("knob"))
    for knob in (None, 3, 5):
        assert find(found, "work_slope", subset="height", knob=knob)["value"] == pytest.approx(2)
    steps = find(found, "work_slope", subset="steps", knob=5)
    assert abs(steps["value"]) < 2, "steps are not height"
    assert find(found, "work_slope", subset="height", knob=1)["reason"] == "the depth is constant"
    assert find(found, "work_accuracy", subset="height", knob=1)["reason"] == "work does not vary at equal L"
    assert find(found, "work_accuracy", subset="height")["n"] == 180


def test_a_depth_that_follows_size_does_not_follow_work(tmp_path):
    found = table(tmp_path, 3 * pl.col("knob"))
    for work in ("height", "steps"):
        assert find(found, "work_slope", subset=work)["value"] == pytest.approx(0, abs=1e-9)
