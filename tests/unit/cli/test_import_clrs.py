import json

import polars as pl
import pytest
from tests.clrs_support import upstream_rows

from anira.tasks.clrs import Clrs, ClrsConfig
from anira.tasks.clrs.algorithms import SUBTASKS

ROWS = [row for row in upstream_rows(traced=True) if row.size == 5]
PUBLISHED = [
    {"question": row.question, "answer": row.answer, "algo_name": row.algorithm, "length": row.size} for row in ROWS
]
BFS = [row for row in PUBLISHED if row["algo_name"] == "bfs"]


def write_jsonl(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_script(path, rows):
    """The file of dm-clrs's script for one algorithm."""
    examples = [
        {
            "prompt": row["question"],
            "references": [row["answer"]],
            "auxiliary": {"length": row["length"], "seed": 0, "use_hints": True},
        }
        for row in rows
    ]
    path.write_text(json.dumps({"name": f"clrs_text_{rows[0]['algo_name']}", "examples": examples}, indent=2))
    return path


def write_dataset(folder, rows, *, indices=()):
    """What `save_to_disk` of Hugging Face writes."""
    folder.mkdir(parents=True)
    halves = [rows[: len(rows) // 2], rows[len(rows) // 2 :]]
    names = [f"data-{i:05d}-of-00002.arrow" for i in range(2)]
    for name, half in zip(names, halves, strict=True):
        pl.DataFrame(half).write_ipc_stream(folder / name)
    (folder / "dataset_info.json").write_text(json.dumps({"features": {}}))
    state = {"_data_files": [{"filename": name} for name in names], "_split": "train", "_indices_files": [*indices]}
    (folder / "state.json").write_text(json.dumps(state))
    return folder


def jsonl(folder):
    return write_jsonl(folder / "rows.jsonl", PUBLISHED)


def lines_named_json(folder):
    return write_jsonl(folder / "rows.json", PUBLISHED)


def json_list(folder):
    path = folder / "rows.json"
    path.write_text(json.dumps(PUBLISHED))
    return path


def parquet(folder):
    pl.DataFrame(PUBLISHED).write_parquet(folder / "rows.parquet")
    return folder / "rows.parquet"


def parquet_with_lists(folder):
    pl.DataFrame([{**row, "answer": [row["answer"]]} for row in PUBLISHED]).write_parquet(folder / "rows.parquet")
    return folder / "rows.parquet"


def parquet_shards(folder):
    (folder / "data").mkdir()
    for i in range(3):
        pl.DataFrame(PUBLISHED[20 * i : 20 * i + 20]).write_parquet(folder / "data" / f"train-{i}-of-3.parquet")
    (folder / "README.md").write_text("about the data")
    return folder


def script_folder(folder):
    (folder / "train").mkdir()
    for name in {row["algo_name"] for row in PUBLISHED}:
        write_script(folder / "train" / f"{name}.json", [row for row in PUBLISHED if row["algo_name"] == name])
    return folder


def dataset(folder):
    return write_dataset(folder / "saved", PUBLISHED)


def dataset_dict(folder):
    (folder / "dataset_dict.json").write_text(json.dumps({"splits": ["test_1", "test_2"]}))
    write_dataset(folder / "test_1", PUBLISHED[:30])
    write_dataset(folder / "test_2", PUBLISHED[30:])
    return folder


LAYOUTS = [
    jsonl,
    lines_named_json,
    json_list,
    parquet,
    parquet_with_lists,
    parquet_shards,
    script_folder,
    dataset,
    dataset_dict,
]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_rows(anira, tmp_path, layout):
    (tmp_path / "source").mkdir()
    out = tmp_path / "rows.parquet"
    source = layout(tmp_path / "source")
    result = anira("import", "clrs", source, "--out", out)
    assert (result.status, result.out) == (0, "")
    assert result.err.splitlines()[-1] == f"wrote 60 rows of 23 subtasks to {out}"
    found = pl.read_parquet(out)
    assert found["index"].to_list() == list(range(60))
    assert set(found["subtask"]) == set(SUBTASKS)
    assert set(found["algorithm"]) == {row.algorithm for row in ROWS}
    assert found["traced"].sum() == 58  # only the two rows of segments_intersect had no trace
    assert sorted(found["question"]) == sorted(expected()["question"])
    assert {file.startswith(str(source)) for file in found["file"]} == {True}


def expected():
    """The rows without traces, as a task of our style writes them."""
    task = Clrs()
    plain = {row.kind: row for row in upstream_rows()}
    questions = [task.instance(task.read(plain[row.kind].question), 0).question for row in ROWS]
    return {"question": questions}


def test_rows_are_those_of_the_task(anira, tmp_path):
    out = tmp_path / "rows.parquet"
    anira("import", "clrs", jsonl(tmp_path), "--out", out)
    task = Clrs()
    for row in pl.read_parquet(out).to_dicts():
        rows = task.read(row["question"])
        assert (row["input_ids"], row["answer"]) == (rows.ids(0), task.instance(rows, 0).answer)
        assert row["labels"] == rows.labels[0].tolist()
        assert row["knob"] == 5
        seen = Clrs(ClrsConfig(tasks=(row["subtask"],))).knob
        assert row["split"] == seen.split(5)
    metadata = pl.read_parquet_metadata(out)
    assert (metadata["anira_task"], json.loads(metadata["anira_config"])) == ("clrs", {"style": "anira"})


def test_upstream_style_keeps_headers_and_zeros(anira, tmp_path):
    out = tmp_path / "rows.parquet"
    anira("import", "clrs", jsonl(tmp_path), "--out", out, "--style", "upstream")
    plain = {row.kind: row for row in upstream_rows()}
    found = pl.read_parquet(out)
    assert found["question"].to_list() == [plain[row.kind].question for row in ROWS]
    assert found["answer"].to_list() == [plain[row.kind].answer.strip() for row in ROWS]


def test_our_own_export_can_be_imported(anira, tmp_path):
    exported, out = tmp_path / "own.jsonl", tmp_path / "rows.parquet"
    anira("export", "clrs", "--split", "eval", "-n", 40, "--out", exported)
    assert anira("import", "clrs", exported, "--out", out).status == 0
    own = [json.loads(line) for line in exported.read_text().splitlines()]
    found = pl.read_parquet(out)
    assert found["input_ids"].to_list() == [row["input_ids"] for row in own]
    assert set(found["algorithm"]) <= set(SUBTASKS) | {""}


def test_long_rows_are_left_out_and_counted_by_subtask(anira, tmp_path):
    out = tmp_path / "rows.parquet"
    result = anira("import", "clrs", jsonl(tmp_path), "--out", out, "--max-length", 150, "--json")
    counts = json.loads(result.out)
    assert pl.read_parquet(out)["input_ids"].list.len().max() <= 150
    assert counts["over_length"]["floyd_warshall"] == 2
    assert sum(counts["written"].values()) + sum(counts["over_length"].values()) == 60
    number = sum(counts["over_length"].values())
    assert f"left out {number} rows longer than 150 tokens: " in result.err
    assert "floyd_warshall 2" in result.err


def test_duplicates_are_left_out_and_counted_when_asked(anira, tmp_path):
    out = tmp_path / "rows.parquet"
    result = anira("import", "clrs", jsonl(tmp_path), "--out", out, "--deduplicate", "--json")
    counts = json.loads(result.out)
    # The same seed made the same inputs for all members of a subtask, but for the acyclic graphs.
    assert counts["duplicates"] == {"convex_hull": 2, "shortest_path": 2, "sort": 6, "string_matching": 2}
    assert "left out 12 rows asked before: convex_hull 2, shortest_path 2, sort 6, string_matching 2" in result.err
    assert len(pl.read_parquet(out)) == 48


BAD = [
    ({"question": "bsf:\nA: [[0]]\npi:\n", "answer": "[0]"}, "unknown algorithm 'bsf': did you mean 'bfs'?"),
    ({"question": "dfs:\nA: [[0 1], [0]]\npi:\n", "answer": "[0 0]"}, "A must be a square matrix"),
    ({"question": "minimum:\nkey: []\nmin:\n", "answer": "0"}, "the input size is 0"),
    ({**BFS[0], "length": -5}, "the length must be 1 to 256, not -5"),
    ({"input": 1, "output": 2}, "the row has neither question nor prompt; it has input, output"),
    ("just text", "a row must be an object with a question and an answer"),
]


@pytest.mark.parametrize(("bad", "reason"), BAD)
def test_a_bad_row_is_one_line_with_file_row_and_reason(anira, tmp_path, bad, reason):
    path, out = write_jsonl(tmp_path / "rows.jsonl", [*BFS, bad, *BFS]), tmp_path / "rows.parquet"
    result = anira("import", "clrs", path, "--out", out)
    assert (result.status, result.out) == (2, "")
    assert f"anira: {path}, row {len(BFS) + 1}: {reason}" in result.err
    assert result.err.count("\n") == 1
    assert not out.exists()


def test_skip_bad_counts_and_lists_what_it_left_out(anira, tmp_path):
    path, out = tmp_path / "rows.jsonl", tmp_path / "rows.parquet"
    write_jsonl(path, [BFS[0], *(bad for bad, _ in BAD), BFS[1]])
    with path.open("a") as file:
        file.write("\n{not json\n")
    result = anira("import", "clrs", path, "--out", out, "--skip-bad", "--json")
    assert result.status == 0
    assert "left out 7 rows that cannot be read:" in result.err
    listed = json.loads(result.out)["bad"]
    assert [complaint.partition(":")[0] for complaint in listed] == [
        *(f"{path}, row {number}" for number in range(2, 8)),
        f"{path}, row 10",
    ]
    assert all(reason in complaint for complaint, (_, reason) in zip(listed, BAD, strict=False))
    assert all(f"  {complaint}\n" in result.err + "\n" for complaint in listed)
    assert pl.read_parquet(out)["row"].to_list() == [1, 8]


def test_of_many_bad_rows_the_first_are_listed(anira, tmp_path):
    path = write_jsonl(tmp_path / "rows.jsonl", [BFS[0], *[{}] * 60])
    result = anira("import", "clrs", path, "--out", tmp_path / "rows.parquet", "--skip-bad")
    assert "left out 60 rows that cannot be read:" in result.err
    assert result.err.count("the row has neither") == 50
    assert "and 10 more (--json lists up to 10,000)" in result.err


def write_bytes(path, content):
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda folder: folder / "absent.jsonl", "absent.jsonl does not exist"),
        (lambda folder: write_bytes(folder / "rows.csv", b"a,b"), "rows.csv: cannot read .csv; known are .parquet"),
        (lambda folder: write_bytes(folder / "rows", b"a"), "rows: cannot read a file without a suffix"),
        (lambda folder: write_bytes(folder / "rows.parquet", b"text"), "rows.parquet: cannot be read as Parquet"),
        (lambda folder: write_bytes(folder / "rows.arrow", b"text"), "rows.arrow: cannot be read as Arrow"),
        (lambda folder: write_bytes(folder / "rows.jsonl", b"\xff\xfe"), "rows.jsonl, row 1: cannot be read as text"),
        (lambda folder: write_bytes(folder / "rows.json", b"3"), "rows.json: neither a list of rows"),
        (lambda folder: write_bytes(folder / "rows.jsonl", b"\n"), "no row is left to write; nothing was written"),
        (lambda folder: folder, "holds nothing to read; known are"),
        (lambda folder: write_bytes(folder / "state.json", b"{}").parent, "this is not what save_to_disk writes"),
        (lambda folder: write_bytes(folder / "state.json", b"{").parent, "state.json: Expecting"),
        (lambda folder: write_dataset(folder / "d", BFS, indices=["i.arrow"]), "save it after flatten_indices"),
    ],
)
def test_files_that_cannot_be_read_are_named(anira, tmp_path, make, complaint):
    (tmp_path / "source").mkdir()
    result = anira("import", "clrs", make(tmp_path / "source"), "--out", tmp_path / "rows.parquet")
    assert (result.status, result.out) == (2, "")
    assert complaint in result.err
    assert result.err.count("\n") == 1
    assert not (tmp_path / "rows.parquet").exists()


def test_long_parquet_files_are_read_in_parts(anira, tmp_path, monkeypatch):
    monkeypatch.setattr("anira.exchange.tables._CHUNK", 7)
    out = tmp_path / "out.parquet"
    assert anira("import", "clrs", parquet(tmp_path), "--out", out).status == 0
    assert pl.read_parquet(out)["row"].to_list() == list(range(1, 61))


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["mano", "x", "--out", "y.parquet"], "only clrs can be imported, not 'mano'"),
        (["clrs", "x", "--out", "y.jsonl"], "--out must end in .parquet, not 'y.jsonl'"),
        (["clrs", "x"], "missing: --out"),
    ],
)
def test_words_that_cannot_work(anira, tmp_path, monkeypatch, words, complaint):
    monkeypatch.chdir(tmp_path)
    result = anira("import", *words)
    assert result.status == 2
    assert complaint in result.err


def test_an_existing_file_is_replaced_only_by_force(anira, tmp_path):
    out = tmp_path / "out.parquet"
    out.write_text("old")
    words = ["import", "clrs", jsonl(tmp_path), "--out", out]
    assert anira(*words).status == 2
    assert out.read_text() == "old"
    assert anira(*words, "--force").status == 0
    assert len(pl.read_parquet(out)) == 60
