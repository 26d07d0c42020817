"""Word problems on the command line: harder splits, answers with steps, rows in a file."""

import json

import polars as pl
import pytest
from tests.training_support import train_tiny

QUESTION = "Ana has 5 apples . Then she finds 3 apples . How many apples does Ana have ?"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return train_tiny(tmp_path_factory.mktemp("wordmath"), "wordmath-anira-e-smoke", eval_every=8)


def test_one_and_two_clauses_more_are_evaluated(anira, run):
    """The model has room for stories that are longer than those of its training: Main, P1 and P2."""
    assert anira("evaluate", run, "--knobs", "4:6", "-n", 5, "--name", "harder").status == 0
    table = pl.read_parquet(run / "records" / "harder" / "instances-*.parquet")
    splits = table.select("knob", "split").unique().sort("knob").rows()
    assert splits == [(4, "seen"), (5, "extrapolation"), (6, "extrapolation")]
    assert {"meta_scalings", "meta_held_out_wordings"} <= set(table.columns)
    tokens = pl.read_parquet(run / "records" / "harder" / "tokens-*.parquet")
    operations = tokens.group_by("instance_id").agg(pl.col("probe_work").sum())["probe_work"]
    assert sorted(operations) == [4] * 5 + [5] * 5 + [6] * 5


def test_a_problem_is_answered_with_its_steps(anira, run):
    said = json.loads(anira("generate", run, QUESTION, "--json").out)
    assert said["true_answer"] == "5 + 3 = 8 . #### 8 <eos>"
    assert said["tokens"][: len(QUESTION.split()) + 2] == ["<bos>", *QUESTION.split(), "<ans>"]
    assert len(said["answer"].split()) == 9
    refused = anira("generate", run, QUESTION.replace("5", "19"))
    assert (refused.status, refused.err.count("\n")) == (2, 1)
    assert "leads to 22: numbers stay between 1 and 20" in refused.err


def test_rows_are_exported(anira, tmp_path):
    path = tmp_path / "rows.parquet"
    assert anira("export", "wordmath", "--split", "eval", "-n", 5, "--knob", 3, "--probes", "--out", path).status == 0
    table = pl.read_parquet(path)
    assert table["answer"].str.contains("#### [0-9]+ <eos>").all()
    assert set(table["knob"]) == {3}
