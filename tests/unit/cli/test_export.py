import json
import time

import polars as pl
import pytest

from anira.config import UserError, replacing
from anira.exchange.export import export
from anira.exchange.parquet import write_parquet
from anira.exchange.rows import CHUNK, Address
from anira.tasks import make_task, task_names


def read(path):
    if path.suffix == ".parquet":
        return pl.read_parquet(path).to_dicts()
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
@pytest.mark.parametrize("name", task_names())
def test_a_file_holds_the_rows_of_the_task(anira, tmp_path, name, suffix):
    path, count, start = tmp_path / f"rows{suffix}", CHUNK + 5, 4000
    words = ["--split", "eval", "-n", count, "--start", start, "--seed", 7, "--knob", 3, "--out", path]
    result = anira("export", name, *words)
    assert (result.status, result.out) == (0, "")
    assert result.err.splitlines()[-1].startswith(f"wrote {count} rows of {name} to {path}")

    task, found = make_task(name), read(path)
    rows = task.rows(seed=7, stream="eval", start=start, count=count, knob=3)
    assert [row["index"] for row in found] == list(range(start, start + count))
    assert [row["input_ids"] for row in found] == [rows.ids(i) for i in range(count)]
    assert [[label for label in row["labels"] if label != -100] for row in found] == [
        rows.answer(i) for i in range(count)
    ]
    for i in (0, count - 1):
        row, instance = found[i], task.instance(rows, i)
        assert (row["seed"], row["stream"], row["knob"], row["split"]) == (7, "eval", 3, task.knob.split(3))
        assert (row["question"], row["answer"]) == (instance.question, instance.answer)
        assert {key: row[f"meta_{key}"] for key in instance.meta} == instance.meta
    assert not [column for column in found[0] if column.startswith("probe_")]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", task_names())
def test_both_formats_hold_the_same_with_probes(anira, tmp_path, name):
    paths = [tmp_path / "rows.jsonl", tmp_path / "rows.parquet"]
    for path in paths:
        assert anira("export", name, "--split", "train", "-n", 8, "--probes", "--out", path).status == 0
    assert read(paths[0]) == read(paths[1])
    probes = {column for column in read(paths[0])[0] if column.startswith("probe_")}
    assert probes == {f"probe_{probe.name}" for probe in make_task(name).probe_specs}


def test_types_of_parquet_columns(anira, tmp_path):
    path = tmp_path / "rows.parquet"
    anira("export", "brevo", "--split", "train", "-n", 5, "--probes", "--out", path)
    schema = pl.read_parquet_schema(path)
    assert schema["input_ids"] == pl.List(pl.Int32)
    assert schema["probe_in_degree"] == pl.List(pl.Float64)
    assert schema["probe_predecessor_positions"] == pl.List(pl.List(pl.Float64))


def test_a_parquet_file_says_what_made_it(anira, tmp_path):
    path = tmp_path / "rows.parquet"
    anira("export", "mano", "--split", "train", "-n", 5, "--modulus", 7, "--out", path)
    metadata = pl.read_parquet_metadata(path)
    assert metadata["anira_task"] == "mano"
    assert json.loads(metadata["anira_config"])["modulus"] == 7


def test_parts_make_the_whole(anira, tmp_path):
    for name, start, count in (("whole", 0, 20), ("head", 0, 12), ("tail", 12, 8)):
        words = ["--start", start, "-n", count, "--out", tmp_path / f"{name}.jsonl"]
        assert anira("export", "mano", "--split", "train", *words).status == 0
    whole, head, tail = ((tmp_path / f"{name}.jsonl").read_text() for name in ("whole", "head", "tail"))
    assert whole == head + tail


def test_force_replaces_a_file(anira, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("old")
    words = ["export", "mano", "--split", "train", "-n", 2, "--out", path]
    assert anira(*words).status == 2
    assert path.read_text() == "old"
    assert anira(*words, "--force").status == 0
    assert len(read(path)) == 2


class Failure(Exception):
    pass


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
@pytest.mark.parametrize("error", [Failure, KeyboardInterrupt, OSError])
def test_an_export_that_fails_midway_leaves_the_old_file_and_nothing_else(tmp_path, suffix, error):
    path = tmp_path / f"rows{suffix}"
    path.write_text("old")
    done = []

    def advance(rows):
        done.append(rows)
        if len(done) == 2:
            raise error("midway")

    address = Address(seed=0, stream="train", start=0, count=10 * CHUNK, knob=None)
    with pytest.raises(UserError if error is OSError else error):
        export(make_task("mano"), address, path, probes=False, advance=advance)
    assert len(done) == 2
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "old"


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
@pytest.mark.parametrize("bytes_per_file", [0, 20_000])
def test_an_export_onto_a_full_disk_leaves_nothing(anira, tmp_path, file_limit, suffix, bytes_per_file):
    path = tmp_path / f"rows{suffix}"
    with file_limit(bytes_per_file):
        result = anira("export", "mano", "--split", "eval", "-n", 3000, "--out", path)
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith(f"anira: cannot write {path}: ")
    assert "File too large" in result.err
    assert result.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_table_whose_rows_cannot_be_made_leaves_nothing_even_later(tmp_path):
    """polars writes in threads of its own, which may be late."""

    def rows():
        raise UserError("no such row")
        yield

    for _ in range(60):
        with pytest.raises(UserError, match="no such row"), replacing(tmp_path / "rows.parquet") as part:
            write_parquet(rows(), part, pl.Schema({"index": pl.Int64()}), {})
        time.sleep(0.005)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.parquet"])
def test_a_file_that_no_disk_holds_is_refused(anira, tmp_path, name):
    result = anira("export", "mano", "--split", "train", "-n", 10**12, "--out", tmp_path / name)
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith("anira: a file of 1000000000000 rows takes about ")
    assert list(tmp_path.iterdir()) == []
