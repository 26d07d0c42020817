"""The record tables: what stands in them and in which type, and the folder they lie in."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.sealing_support import edit_json, edit_table
from tests.unit.evaluation.evaluation_support import SUBJECT, TASKS, evaluated, model_for
from tests.unit.measure.records_support import Plan, make_tables

from anira.config import UserError
from anira.config.sealed import write_sealed
from anira.evaluation import EvaluationConfig, RecordFolder, evaluate
from anira.measure.records.loading import load_evaluation
from anira.records import RECORDS_VERSION

TEXT, LONG, INT, FLOAT, TRUTH = pl.String, pl.Int64, pl.Int32, pl.Float32, pl.Boolean
INSTANCES = {
    **{"run_id": TEXT, "step": LONG, "instance_id": LONG, "task": TEXT, "subtask": TEXT, "knob": LONG, "split": TEXT},
    **{"variant": TEXT, "seed": LONG, "select": TEXT, "threshold": pl.Float64, "decode": TEXT, "override": TEXT},
    **{"correct": TRUTH, "lenient_correct": TRUTH, "question": TEXT, "answer": TEXT, "predicted": TEXT},
    **{"seen_in_training": TRUTH, "num_tokens": INT, "iterations": LONG, "full_iterations": LONG, "decisions": LONG},
    **{"flops": LONG, "full_flops": LONG, "kv_slots": LONG, "full_kv_slots": LONG},
}
TOKENS = {
    **{"run_id": TEXT, "step": LONG, "instance_id": LONG, "knob": LONG, "position": INT, "input_id": INT},
    **{"input_text": TEXT, "target_id": INT, "target_kind": TEXT, "predicted_id": INT, "correct": TRUTH},
    **{"exit_depth": pl.Int16, "executed": pl.Int16, "expected_depth": FLOAT, "exit_probs": pl.List(FLOAT)},
    **{"margin": FLOAT, "ce": FLOAT, "change": FLOAT, "lens": pl.List(TEXT)},
}


@pytest.mark.parametrize("policy", ["anira-e", "anira-o", "fixed", "similarity", "gates"])
@pytest.mark.parametrize("name", TASKS)
def test_tables_have_the_columns_of_the_schema(tmp_path, name, policy):
    task = TASKS[name]
    instances, tokens = evaluated(model_for(task, policy), task, tmp_path / "e", count=3)
    rows = task.rows(seed=0, stream="eval", start=0, count=1, knob=task.knob.seen[0])
    meta = {f"meta_{key}": LONG for key in task.instance(rows, 0).meta}
    assert list(instances.schema.items()) == list({**INSTANCES, **meta}.items())
    probes = {
        probe.name if probe.name == "predecessor_positions" else f"probe_{probe.name}": (
            pl.List(INT) if probe.name == "predecessor_positions" else FLOAT
        )
        for probe in task.probe_specs
    }
    assert list(tokens.schema.items()) == list({**TOKENS, **probes}.items())
    has_distribution = policy.startswith("anira")
    for column in ("expected_depth", "exit_probs", "margin"):
        assert tokens[column].null_count() == (0 if has_distribution else len(tokens))


def test_ids_join_the_tables(tmp_path):
    task = TASKS["mano"]
    instances, tokens = evaluated(model_for(task), task, tmp_path / "e", count=5)
    assert instances["instance_id"].to_list() == list(range(5 * len(task.knob.seen)))
    lengths = tokens.group_by("instance_id", maintain_order=True).agg(
        pl.len().cast(pl.Int32).alias("num_tokens"), pl.col("knob").first(), pl.col("position").max()
    )
    assert lengths.select("instance_id", "num_tokens", "knob").equals(
        instances.select("instance_id", "num_tokens", "knob")
    )
    assert (lengths["position"] + 1 == lengths["num_tokens"]).all()
    for table in (instances, tokens):
        assert table.select("run_id", "step").unique().rows() == [("run", 7)]


def test_the_folder_says_what_was_asked(tmp_path):
    task = TASKS["mano"]
    config = EvaluationConfig(knobs=(1, 2), count=3, threshold=0.75)
    evaluate(model_for(task), task, config, SUBJECT, tmp_path / "e")
    asked = json.loads((tmp_path / "e" / "evaluation.json").read_text())
    expected = {"step": 7, "knobs": [1, 2], "n": 3, "select": "quantile", "threshold": 0.75, "decode": "parallel"}
    assert expected.items() <= asked.items()
    assert (asked["override"], asked["records_version"], asked["complete"]) == ("", RECORDS_VERSION, True)
    assert (asked["run_id"], asked["variant"], asked["seed"]) == ("run", "anira-o", 3)
    names = {"instances-k001.parquet", "instances-k002.parquet", "tokens-k001.parquet", "tokens-k002.parquet"}
    assert {path.name for path in (tmp_path / "e").iterdir()} == names | {"evaluation.json"}


def folder(tmp_path, asked=None):
    records = RecordFolder(tmp_path / "e")
    records.open(asked or {"knobs": [3, 4]})
    return records


TABLES = {knob: make_tables(Plan(n=2), knob, 2 * knob, np.random.default_rng(knob)) for knob in (3, 4)}


def test_a_knob_counts_once_it_is_listed(tmp_path):
    records = folder(tmp_path)
    assert records.missing([3, 4]) == [3, 4]
    records.write(3, *TABLES[3])
    assert records.missing([3, 4]) == [4]
    for name in ("tokens-k004.parquet", "instances-k004.parquet"):  # an interrupt came before they were listed
        (tmp_path / "e" / name).write_bytes((tmp_path / "e" / name.replace("4", "3")).read_bytes())
    assert folder(tmp_path).missing([3, 4]) == [4]


def test_nothing_is_written_before_the_first_knob(tmp_path):
    folder(tmp_path)
    assert not (tmp_path / "e").exists()


def test_it_is_complete_only_when_closed(tmp_path):
    records = folder(tmp_path)
    records.write(3, *TABLES[3])
    assert not folder(tmp_path).is_complete()
    records.close()
    assert folder(tmp_path).is_complete()


def test_a_second_call_changes_nothing(tmp_path):
    records = folder(tmp_path)
    records.write(3, *TABLES[3])
    records.close()
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "e").iterdir()}
    folder(tmp_path).close()
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "e").iterdir()} == before


def test_another_evaluation_in_the_same_folder_is_refused(tmp_path):
    folder(tmp_path).close()
    before = (tmp_path / "e" / "evaluation.json").read_bytes()
    with pytest.raises(UserError, match="holds another evaluation") as caught:
        folder(tmp_path, {"knobs": [3, 5]})
    assert str(tmp_path / "e") in str(caught.value)
    assert (tmp_path / "e" / "evaluation.json").read_bytes() == before


@pytest.mark.parametrize("complete", [True, False])
def test_a_complete_evaluation_of_an_older_version_stands(tmp_path, complete):
    state = tmp_path / "e" / "evaluation.json"
    folder(tmp_path).close()
    edit_json(state, records_version=1, complete=complete)
    if complete:
        before = state.read_bytes()
        folder(tmp_path).close()
        assert state.read_bytes() == before
    else:  # going on would mix two versions
        with pytest.raises(UserError, match="was begun with records of version 1"):
            folder(tmp_path)


def test_a_full_disk_leaves_whole_knobs_and_a_reason(tmp_path, monkeypatch):
    records = folder(tmp_path)
    records.write(3, *TABLES[3])

    def full(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(UserError, match=r"cannot write .*instances-k004.parquet: No space left on device"):
        records.write(4, *TABLES[4])
    assert {path.suffix for path in (tmp_path / "e").iterdir()} == {".json", ".parquet"}
    assert folder(tmp_path).missing([3, 4]) == [4]


def damaged(data):
    return bytes([*data[:20], data[20] ^ 4, *data[21:]])


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: b"", damaged])
def test_a_damaged_table_is_refused_with_what_to_do(tmp_path, damage):
    folder(tmp_path).write(3, *TABLES[3])
    path = tmp_path / "e" / "tokens-k003.parquet"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(UserError, match=r"of tokens-k003\.parquet has changed; remove .*/e to have it evaluated"):
        folder(tmp_path).read(3)


def test_a_damaged_or_foreign_list_is_refused(tmp_path):
    folder(tmp_path).write(3, *TABLES[3])
    state = tmp_path / "e" / "evaluation.json"
    whole = state.read_text()
    for text, complaint in (
        (whole.replace("3,", "7,"), "has changed since"),
        ("{", "cannot read"),
        ("{}", "has no check-sum"),
        ("[" * 9999, "nested"),
    ):
        state.write_text(text)
        with pytest.raises(UserError, match=complaint):
            folder(tmp_path)
    write_sealed(state, {"records_version": 2})
    with pytest.raises(UserError, match="does not list the records' files"):
        folder(tmp_path)


def test_a_folder_that_is_a_link_is_not_written_in(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "e").symlink_to(tmp_path / "outside")
    with pytest.raises(UserError, match="is a symbolic link"):
        folder(tmp_path)


@pytest.mark.parametrize("column", ["exit_depth", "expected_depth", "position"])
def test_what_analysis_would_refuse_is_not_written(tmp_path, column):
    instances, tokens = TABLES[3]
    wrong = {"exit_depth": pl.lit(99, pl.Int16), "expected_depth": pl.lit(float("nan"), pl.Float32)}
    tokens = tokens.with_columns(wrong.get(column, pl.lit(0, pl.Int32)).alias(column))
    with pytest.raises(UserError, match=f"model gives records that cannot be, knob 3: .*{column}"):
        folder(tmp_path).write(3, instances, tokens)
    assert not list(tmp_path.iterdir())


def test_a_table_that_no_evaluation_writes_is_refused_when_read(tmp_path):
    folder(tmp_path).write(3, *TABLES[3])
    edit_table(tmp_path / "e" / "tokens-k003.parquet", lambda table: pl.concat([table, table[:1]]))
    with pytest.raises(UserError, match="has records that cannot be, knob 3: two tokens have the same"):
        RecordFolder(tmp_path / "e").read(3)


def test_subtasks_have_files_of_their_own(tmp_path):
    records = folder(tmp_path, {"knobs": {"sort": [3], "bfs": [3]}})
    records.write(3, *TABLES[3], "sort")
    assert (records.missing([3], "sort"), records.missing([3], "bfs"), records.missing([3])) == ([], [3], [3])
    assert (tmp_path / "e" / "tokens-sort-k003.parquet").exists()
    assert all(table.equals(own) for table, own in zip(records.read(3, "sort"), TABLES[3], strict=True))


@pytest.mark.parametrize("name", ["~", "[ab]*"])
def test_a_folder_is_read_by_its_name_whatever_that_is(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    folder = Path(name) / "records"
    evaluate(model_for(TASKS["mano"]), TASKS["mano"], EvaluationConfig(knobs=(2,), count=3), SUBJECT, folder)
    instances, _ = RecordFolder(folder).read(2)
    assert len(instances) == 3
    assert load_evaluation(folder).instances.collect().equals(instances)
