"""Damaged and hostile files for `anira import clrs`: one clear line or a right result, and nothing half made."""

import io
import json
import os
import random
import subprocess
import sys
import zlib
from pathlib import Path

import polars as pl
import pytest
from tests.clrs_support import upstream_rows

from anira.tasks.clrs import Clrs

ROWS = [
    {"question": row.question, "answer": row.answer, "algo_name": row.algorithm, "length": row.size}
    for row in upstream_rows()
    if row.size == 5 and row.algorithm in ("bfs", "minimum", "quicksort", "floyd_warshall")
]
GOOD = ROWS[0]
BFS = next(row for row in ROWS if row["algo_name"] == "bfs")


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def parquet(rows, **options):
    buffer = io.BytesIO()
    pl.DataFrame(rows).write_parquet(buffer, **options)
    return buffer.getvalue()


def arrow(rows, **options):
    buffer = io.BytesIO()
    pl.DataFrame(rows).write_ipc_stream(buffer, **options)
    return buffer.getvalue()


def state(*names):
    return json.dumps({"_data_files": [{"filename": name} for name in names]}).encode()


def question(**changes):
    return {**GOOD, **changes}


def damaged(content, kind):
    """Return a file with a few bytes changed, or its end lost, or a piece of it twice; the same for the same kind."""
    draw = random.Random(kind)
    changed = bytearray(content)
    how = draw.choice(("flip", "flip", "bytes", "cut", "twice", "zeros"))
    place = draw.randrange(len(changed))
    if how == "flip":
        changed[place] ^= 1 << draw.randrange(8)
    elif how == "bytes":
        for _ in range(8):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
    elif how == "cut":
        del changed[place:]
    elif how == "twice":
        changed[place:place] = changed[place : place + 100]
    else:
        changed[place : place + 16] = bytes(16)
    return bytes(changed)


DIGITS = "9" * 6000
DEEP = b"[" * 100_000
HOSTILE = {
    # numbers
    "integer of 6,000 digits in a question": (
        "a.jsonl",
        lines(question(question=f"bfs:\ns: {DIGITS}, A: [[0]]\npi:\n")),
    ),
    "integer of 6,000 digits in an answer": ("a.jsonl", lines({**BFS, "answer": f"[{DIGITS}]"})),
    "integer of 6,000 digits in JSON": ("a.jsonl", b'{"question": %s}\n' % DIGITS.encode()),
    "integer of 6,000 digits in a document": ("a.json", b'[{"question": %s}]' % DIGITS.encode()),
    "integer of 4,000 digits as length": ("a.jsonl", lines(question(length=int("9" * 4000)))),
    "length that is true": ("a.jsonl", lines(question(length=True))),
    "length that is no number": ("a.jsonl", b'{"question": "x", "answer": "y", "length": NaN}\n'),
    "infinite real": (
        "a.jsonl",
        lines(question(question="minimum:\nkey: [1e999]\nmin:\n", answer="0", algo_name="minimum")),
    ),
    "digits of another script": ("a.jsonl", lines({**BFS, "question": BFS["question"].replace("0", "\u0660")})),
    # JSON
    "deep list": ("a.jsonl", DEEP + b"\n"),
    "deep list in a document": ("a.json", DEEP),
    "deep list in a row": ("a.json", b'[{"question": ' + DEEP + b"]"),
    "deep list as length": ("a.jsonl", lines({**GOOD, "length": json.loads("[" * 500 + "]" * 500)})),
    "key given twice": ("a.jsonl", b'{"question": "a", "question": "b", "answer": "c"}\n'),
    "examples given twice": ("a.json", b'{"examples": [], "examples": []}'),
    "examples that are no list": ("a.json", b'{"examples": {"question": "a"}}'),
    "key that is no text": ("a.json", b"{\n1: 2}"),
    "list without its end": ("a.json", b"[" + json.dumps(GOOD).encode()),
    "list without commas": ("a.json", f"[{json.dumps(GOOD)} {json.dumps(GOOD)}]".encode()),
    "document and something more": ("a.json", f"[{json.dumps(GOOD)}]\nx".encode()),
    "a number": ("a.json", b"3"),
    "a word": ("a.jsonl", b"question\n"),
    "a list as a row": ("a.jsonl", b"[1, 2]\n"),
    "null as a row": ("a.json", b"[null]"),
    # text
    "not UTF-8": ("a.jsonl", b'{"question": "\xff\xfe"}\n'),
    "not UTF-8 in a document": ("a.json", b'[\n{"question": "\xff\xfe"}]'),
    "UTF-16": ("a.jsonl", json.dumps(GOOD).encode("utf-16")),
    "half a character": ("a.jsonl", lines(question(answer="\ud800"))),
    "NUL bytes": ("a.jsonl", bytes(1000)),
    "NUL in the text": ("a.jsonl", lines(question(answer="\0"))),
    "terminal escapes": ("a.jsonl", lines(question(algo_name="\x1b]0;owned\x07\u202e"))),
    "escapes as a key": ("a.jsonl", lines({"\x1b[2J": 1})),
    "header as long as a book": ("a.jsonl", lines(question(question="x" * 1_000_000 + ":\n\n:\n"))),
    "answer as long as a book": ("a.jsonl", lines(question(answer="1 " * 1_000_000))),
    "formulas": ("a.jsonl", lines(question(question="=1+1", answer="@SUM(A1)"))),
    # nothing
    "empty lines": ("a.jsonl", b""),
    "empty document": ("a.json", b""),
    "empty Parquet file": ("a.parquet", b""),
    "empty Arrow file": ("a.arrow", b""),
    "empty list": ("a.json", b"[]"),
    "blank lines": ("a.jsonl", b"\n\r\n  \n"),
    # tables
    "Parquet without rows": ("a.parquet", parquet({"question": [], "answer": []})),
    "Parquet with other columns": ("a.parquet", parquet([{"input": "a\x1b", "output": "b"}])),
    "Parquet with half the columns": ("a.parquet", parquet([{"question": GOOD["question"]}])),
    "Parquet with numbers for text": ("a.parquet", parquet([{"question": 1, "answer": 2}])),
    "Parquet with bytes for text": ("a.parquet", parquet([{"question": b"\xff", "answer": b"x"}])),
    "Parquet with lists of lists": ("a.parquet", parquet([{"question": [["a"]], "answer": [["b"]]}])),
    "Parquet with several answers": ("a.parquet", parquet([question(answer=["0", "1"])])),
    "Parquet with a length that is no number": ("a.parquet", parquet([question(length=float("nan"))])),
    "text called Parquet": ("a.parquet", b"PAR1" + b"x" * 100 + b"PAR1"),
    "Parquet with a footer of 4 GB": ("a.parquet", b"PAR1" + b"\xff\xff\xff\xff" + b"PAR1"),
    "Arrow that asks for a terabyte": ("a.arrow", b"\xff\xff\xff\xff\xff\xff\xff\x7f" + bytes(64)),
    "text called Arrow": ("a.arrow", b"text"),
    # other forms
    "compressed": ("a.jsonl.gz", zlib.compress(bytes(1000))),
    "a table of another form": ("a.csv", b"question,answer\n"),
}
"""What is wrong -> the name of the file and its content; none can be imported."""

FINE = {
    "byte order mark": ("a.jsonl", b"\xef\xbb\xbf" + lines(*ROWS)),
    "byte order mark before a document": ("a.json", b"\xef\xbb\xbf" + json.dumps(ROWS, indent=1).encode()),
    "lines that end as on Windows": ("a.jsonl", lines(*ROWS).replace(b"\n", b"\r\n")),
    "no end of the last line": ("a.jsonl", lines(*ROWS).rstrip()),
    "rows over several lines": ("a.json", json.dumps({"name": "x", "examples": ROWS, "n": [1]}, indent=2).encode()),
    "one row over several lines": ("a.json", json.dumps(GOOD, indent=2).encode()),
    "lines called JSON": ("a.json", lines(*ROWS)),
    "columns nobody asked for": ("a.parquet", parquet([{**row, "other": [{"a": 1}], "\x1b": None} for row in ROWS])),
    "text as categories": (
        "a.parquet",
        parquet(pl.DataFrame(ROWS).with_columns(pl.col("algo_name").cast(pl.Categorical))),
    ),
    "lengths in a struct": ("a.arrow", arrow([{**row, "auxiliary": {"length": 5, "seed": "s"}} for row in ROWS])),
}


def complaint(result):
    """The one line of a command that failed."""
    assert result.status == 2, result
    assert result.out == ""
    assert result.err.startswith("anira: ")
    assert result.err.endswith("\n")
    line = result.err[:-1]
    assert line.isprintable(), line
    assert len(line) < 2100
    return line


def check_rows(out):
    """Whatever was imported must be rows of the task."""
    task = Clrs()
    for row in pl.read_parquet(out).to_dicts():
        assert task.vocab.decode(row["input_ids"][1:-1]) == row["question"] + row["answer"]
        assert (
            task.read(row["question"]).ids(0)[: len(row["question"]) + 1]
            == row["input_ids"][: len(row["question"]) + 1]
        )


@pytest.fixture
def imported(anira, tmp_path):
    """Import one file with this name and content into out.parquet."""

    def run(name, content, *words):
        source = tmp_path / "source"
        source.mkdir(exist_ok=True)
        (source / name).write_bytes(content)
        result = anira("import", "clrs", source / name, "--out", tmp_path / "out.parquet", *words)
        left = {path.name for path in tmp_path.iterdir()} - {"source"}
        assert left == ({"out.parquet"} if result.status == 0 else set())
        return result

    return run


@pytest.mark.parametrize("case", HOSTILE)
def test_what_is_no_row_is_one_line(imported, case):
    name, content = HOSTILE[case]
    assert name in complaint(imported(name, content))


@pytest.mark.parametrize("case", FINE)
def test_what_only_looks_odd_is_read(imported, tmp_path, case):
    name, content = FINE[case]
    assert imported(name, content).status == 0
    expected = ROWS[:1] if "one row" in case else ROWS
    assert pl.read_parquet(tmp_path / "out.parquet").height == len(expected)
    check_rows(tmp_path / "out.parquet")


BASES = {"a.jsonl": lines(*ROWS), "a.json": json.dumps({"name": "bfs", "examples": ROWS}, indent=1).encode()}
TABLES = {"a.parquet": parquet(ROWS), "b.parquet": parquet(ROWS, compression="uncompressed"), "a.arrow": arrow(ROWS)}


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("name", BASES)
def test_damaged_text(imported, tmp_path, name, seed):
    result = imported(name, damaged(BASES[name], f"{name} {seed}"), *(["--skip-bad"] if seed % 2 else []))
    if result.status == 0:
        check_rows(tmp_path / "out.parquet")
    else:
        complaint(result)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", TABLES)
def test_damaged_tables(imported, tmp_path, name, seed):
    result = imported(name, damaged(TABLES[name], f"{name} {seed}"), *(["--skip-bad"] if seed % 2 else []))
    if result.status == 0:
        check_rows(tmp_path / "out.parquet")
    else:
        complaint(result)


def test_a_table_of_bad_rows_has_an_end(imported):
    table = parquet([{"question": [["a"]], "answer": [["b"]]}] * 3)
    assert "left out 3 rows that cannot be read" in complaint(imported("a.parquet", table, "--skip-bad"))


def test_bad_rows_can_be_left_out(imported, tmp_path):
    bad = [content.rstrip(b"\n").partition(b"\n")[0] for name, content in HOSTILE.values() if name == "a.jsonl"]
    result = imported("a.jsonl", lines(*ROWS) + b"\n".join(bad) + b"\n" + lines(*ROWS), "--skip-bad")
    assert result.status == 0
    assert pl.read_parquet(tmp_path / "out.parquet").height == 2 * len(ROWS)
    assert result.err.replace("\n", "").isprintable()


def outside(folder):
    """A file that lies beside the folder, not in it."""
    (folder.parent / "outside.arrow").write_bytes(arrow(ROWS))
    return folder.parent / "outside.arrow"


def make(folder, files):
    folder.mkdir()
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


DATASETS = {
    "a file above": (state("../outside.arrow"), "cannot be the name of something in a folder"),
    "a file by its whole path": (state("/etc/passwd"), "cannot be the name of something in a folder"),
    "a file in a folder": (state("deep/a.arrow"), "cannot be the name of something in a folder"),
    "the folder": (state(".."), "cannot be the name of something in a folder"),
    "nothing": (state(""), "cannot be the name of something in a folder"),
    "NUL": (state("a\0.arrow"), "cannot be the name of something in a folder"),
    "a file that is not there": (state("b.arrow"), "there is no such file"),
    "a file twice": (state("a.arrow", "a.arrow"), "names a file twice"),
    "a file of another kind": (state("a.txt"), "cannot read .txt"),
    "a number": (b'{"_data_files": [{"filename": 3}]}', "not what save_to_disk writes"),
    "words": (b'{"_data_files": ["a.arrow"]}', "not what save_to_disk writes"),
    "a word": (b'{"_data_files": "a.arrow"}', "not what save_to_disk writes"),
    "a list": (b"[]", "not what save_to_disk writes"),
    "deep lists": (DEEP, "nested more than"),
    "bytes": (b"\xff", "utf-8"),
}


@pytest.mark.parametrize("case", DATASETS)
def test_a_dataset_names_files_beside_it(anira, tmp_path, case):
    content, reason = DATASETS[case]
    folder = make(
        tmp_path / "d", {"a.arrow": arrow(ROWS), "a.txt": b"", "deep/a.arrow": arrow(ROWS), "state.json": content}
    )
    outside(folder)
    assert reason in complaint(anira("import", "clrs", folder, "--out", tmp_path / "out.parquet"))
    assert not (tmp_path / "out.parquet").exists()


def pipe(path):
    os.mkfifo(path)


def folder_of_that_name(path):
    path.mkdir()


def link_to_nowhere(path):
    path.symlink_to("nowhere.jsonl")


def link_to_itself(path):
    path.symlink_to(path.name)


def link_to_a_device(path):
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("thing", [pipe, link_to_nowhere, link_to_itself, link_to_a_device])
def test_what_is_no_file_is_not_opened(anira, tmp_path, thing, within):
    folder = make(tmp_path / "d", {"a.jsonl": lines(*ROWS)})
    thing(folder / "b.jsonl")
    result = anira("import", "clrs", folder if within else folder / "b.jsonl", "--out", tmp_path / "out.parquet")
    assert any(reason in complaint(result) for reason in ("not an ordinary file", "no such file", "does not exist"))


def test_what_else_lies_in_a_folder_is_no_matter(anira, tmp_path):
    folder = make(
        tmp_path / "d", {"a.jsonl": lines(*ROWS), "._a.jsonl": b"\0", ".cache/x.json": b"{", "README.md": b""}
    )
    folder_of_that_name(folder / "c.json")
    (folder / "loop").symlink_to(folder)
    assert anira("import", "clrs", folder, "--out", tmp_path / "out.parquet").status == 0
    assert pl.read_parquet(tmp_path / "out.parquet").height == len(ROWS)


def test_a_file_whose_name_is_not_text(anira, tmp_path):
    folder = make(tmp_path / "d", {"a\udcff\x1b.jsonl": lines(*ROWS)})
    assert anira("import", "clrs", folder, "--out", tmp_path / "out.parquet").status == 0
    (name,) = pl.read_parquet(tmp_path / "out.parquet")["file"].unique()
    assert name.endswith("a\\udcff\\x1b.jsonl")


@pytest.mark.parametrize("out", ["a.parquet", "link.parquet", "hard.parquet"])
@pytest.mark.parametrize("whole", [False, True])
def test_what_is_read_is_not_written(anira, tmp_path, out, whole):
    folder = make(tmp_path / "d", {"a.parquet": parquet(ROWS)})
    (folder / "link.parquet").symlink_to("a.parquet")
    (folder / "hard.parquet").hardlink_to(folder / "a.parquet")
    result = anira("import", "clrs", folder if whole else folder / "a.parquet", "--out", folder / out, "--force")
    assert "is among the files to read" in complaint(result)
    assert (folder / "a.parquet").read_bytes() == parquet(ROWS)


@pytest.mark.parametrize(
    ("out", "reason"),
    [
        ("no/such/out.parquet", "does not exist"),
        ("file/out.parquet", "does not exist"),
        ("folder.parquet", "is a folder"),
        ("/proc/out.parquet", "cannot write"),
        ("out.csv", "must end in"),
        ("there.parquet", "exists already"),
    ],
)
def test_places_that_cannot_be_written(anira, tmp_path, monkeypatch, out, reason):
    monkeypatch.chdir(make(tmp_path / "d", {"a.jsonl": lines(*ROWS), "file": b"", "there.parquet": b"mine"}))
    Path("folder.parquet").mkdir()
    before = sorted(Path().rglob("*"))
    assert reason in complaint(anira("import", "clrs", "a.jsonl", "--out", out))
    assert sorted(Path().rglob("*")) == before
    assert Path("there.parquet").read_bytes() == b"mine"


@pytest.mark.parametrize("size", [0, 1000])
def test_a_full_disk(anira, tmp_path, file_limit, size):
    source = make(tmp_path / "d", {"a.jsonl": lines(*ROWS)}) / "a.jsonl"
    with file_limit(size):
        result = anira("import", "clrs", source, "--out", tmp_path / "out.parquet")
    assert "File too large" in complaint(result)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d"]


TABLE = """
import polars as pl, sys
cell = pl.Series(["[0 1], " * {length}]).gather([0] * {rows})
pl.DataFrame({{"question": cell, "answer": ["0"] * {rows}}}).{write}(sys.argv[1], compression="zstd")
"""
PEAK = """
import re, resource, sys
from pathlib import Path
from anira.cli import main
status = main(sys.argv[1:])
(own,) = re.findall(r"VmHWM:\\s+([0-9]+)", Path("/proc/self/status").read_text())
print(max(int(own), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) // 1024)
sys.exit(status)
"""


def large_cell(path):
    large_table(path, length=18_000_000, rows=1, write="write_parquet")
    assert path.stat().st_size < 100_000


def cell_of_many_rows(path):
    large_table(path, length=700_000, rows=300, write="write_parquet")
    assert path.stat().st_size < 100_000


def large_cell_of_arrow(path):
    large_table(path, length=18_000_000, rows=1, write="write_ipc_stream")
    assert path.stat().st_size < 100_000


def large_table(path, **sizes):
    # In a process of its own, because this one stays as large as it ever was.
    subprocess.run([sys.executable, "-c", TABLE.format(**sizes), path], check=True)


def large_line(path):
    with path.open("wb") as file:
        file.truncate(128 << 20)  # a line of zeros, which take no room on the disk


def large_text(path):
    path.write_bytes(b'[{"question": "' + b"1" * (32 << 20))


def many_lists(path):
    path.write_bytes(b"[" + b"[]," * (8 << 20) + b"[]]")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system does not say how much memory was used")
@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("a.parquet", large_cell),
        ("b.parquet", cell_of_many_rows),
        ("a.arrow", large_cell_of_arrow),
        ("a.jsonl", large_line),
        ("a.json", large_text),
        ("b.json", many_lists),
    ],
)
def test_memory_is_bounded(tmp_path, name, write):
    write(tmp_path / name)
    words = ["import", "clrs", str(tmp_path / name), "--out", str(tmp_path / "out.parquet")]
    done = subprocess.run([sys.executable, "-c", PEAK, *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert name in done.stderr
    assert int(done.stdout) < 1000
    assert [path.name for path in tmp_path.iterdir()] == [name]
