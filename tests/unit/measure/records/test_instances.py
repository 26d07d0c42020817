import numpy as np
import polars as pl
import pytest
from tests.sealing_support import edit_table
from tests.unit.measure.records_support import Plan, write_evaluation

from anira.config import UserError
from anira.measure.records.instances import few_instances, instance_means, instance_table, knob_index
from anira.measure.records.loading import load_evaluation

PLAN = Plan(knobs=(2, 5), n=15, answers=4, virtual=1)


@pytest.fixture
def folder(tmp_path):
    return write_evaluation(tmp_path / "final", PLAN)


@pytest.fixture
def tokens(folder):
    return pl.read_parquet(folder / "tokens-k*.parquet")


def test_sums_are_those_of_the_tokens(folder, tokens):
    table = instance_table(load_evaluation(folder))
    for row in table.iter_rows(named=True):
        own = tokens.filter(pl.col("instance_id") == row["instance_id"])
        answers = own.filter(pl.col("target_kind") == "answer")
        assert row["answer_tokens"] == row["expected_tokens"] == len(answers)
        assert row["answer_depth"] == answers["exit_depth"].sum()
        assert row["expected_depth"] == pytest.approx(answers["expected_depth"].sum())
        assert row["prompt_tokens"] == len(own) - len(answers) - 1
        assert row["prompt_depth"] == own.filter(pl.col("target_kind") == "prompt")["exit_depth"].sum()
        assert row["unread"] == (own["executed"] - own["exit_depth"]).sum()


def test_the_order_of_rows_on_disk_does_not_matter(folder):
    before = instance_table(load_evaluation(folder))
    for path in folder.glob("*.parquet"):
        edit_table(path, lambda table: table.sample(fraction=1, shuffle=True, seed=1))
    assert instance_table(load_evaluation(folder)).equals(before)


def test_means_are_undefined_without_tokens(folder):
    table = instance_table(load_evaluation(folder)).with_columns(
        pl.when(pl.col("instance_id") == 0).then(0).otherwise("answer_tokens").alias("answer_tokens"),
        pl.when(pl.col("instance_id") == 0).then(0).otherwise("answer_depth").alias("answer_depth"),
    )
    means = instance_means(table, "exit_depth")
    assert np.isnan(means[0])
    assert not np.isnan(means[1:]).any()


def test_knobs_are_in_order(folder):
    knobs, index = knob_index(instance_table(load_evaluation(folder)))
    assert knobs == [2, 5]
    assert index.tolist() == [0] * 15 + [1] * 15


@pytest.mark.parametrize(
    ("name", "change", "complaint"),
    [
        ("tokens-k005.parquet", lambda t: t.filter(pl.col("instance_id") != 20), "for each of its positions"),
        ("instances-k005.parquet", lambda t: t.with_columns(instance_id=pl.lit(20, pl.Int64)), "same instance_id"),
        ("instances-k005.parquet", lambda t: t.with_columns(task=pl.lit("brevo")), "different task"),
        ("instances-k005.parquet", lambda t: t.with_columns(variant=pl.lit("fixed")), "variant is not 'anira-o'"),
        ("instances-k005.parquet", lambda t: t.with_columns(step=pl.lit(1, pl.Int64)), "step is not 4000"),
    ],
)
def test_records_that_do_not_fit_together_are_refused(folder, name, change, complaint):
    edit_table(folder / name, change)
    with pytest.raises(UserError, match=complaint):
        instance_table(load_evaluation(folder))


def test_what_is_missing_is_said(tmp_path):
    folder = write_evaluation(tmp_path / "e", Plan(n=8), n=12, knobs=[1, 2, 3, 4, 9], complete=False)
    evaluation = load_evaluation(folder)
    assert evaluation.warnings == ("no records of knob 9: the evaluation was interrupted",)
    assert few_instances(evaluation) == [
        *(f"knob {knob} has 8 of 12 instances" for knob in (1, 2, 3, 4)),
        "a knob has fewer than 10 instances: intervals are rough",
    ]
