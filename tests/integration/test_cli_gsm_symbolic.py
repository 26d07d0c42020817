"""`anira gsm-symbolic` and `anira reproduce gsm-symbolic` on tiny models and questions of our own."""

import json

import pytest
from tests.gsm_support import save, tiny_anira, write_data, write_shots

SHORT = ("--max-new-tokens", "4", "--limit", "4")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    root = tmp_path_factory.mktemp("gsm")
    write_data(root / "data")
    write_shots(root / "shots.jsonl")
    save(tiny_anira(), root / "tiny")
    return root


@pytest.fixture
def gsm(anira, place, monkeypatch):
    monkeypatch.chdir(place)
    return lambda *words: anira("gsm-symbolic", "tiny", "--data", "data", "--shots", "shots.jsonl", *SHORT, *words)


def test_from_a_model_to_the_table_and_the_page(gsm, anira, place):
    result = gsm("--depth", "1:3")
    assert result.status == 0, result.err
    lines = result.out.splitlines()
    assert lines[0].startswith("GSM-Symbolic: does depth follow the number of clauses?")
    assert any(line.startswith("tiny") and line.count("%") == 3 for line in lines), result.out
    records = place / "runs" / "gsm-symbolic" / "tiny" / "records"
    assert {path.name for path in records.iterdir()} == {"final", "depth-1", "depth-2", "depth-3"}

    again = gsm("--json")
    rows = json.loads(again.out)
    assert {row["quantity"] for row in rows} >= {"accuracy", "spread", "depth", "forced_accuracy", "above_curve"}
    assert {row["run_id"] for row in rows} == {"tiny"}

    made = anira("reproduce", "gsm-symbolic", "--scale", "smoke", "--runs", "runs", "--out", "pages")
    assert made.status == 0, made.err
    assert (place / "pages" / "gsm-symbolic.html").stat().st_size > 100_000
    assert "gsm-symbolic" in (place / "pages" / "index.html").read_text()


def test_a_rule_has_a_folder_of_its_own(gsm, place):
    result = gsm("--select", "quantile", "--threshold", "0.9", "--out", "rule", "--splits", "p1", "--name", "mine")
    assert result.status == 0, result.err
    assert (place / "rule" / "records" / "quantile-t0.9" / "evaluation.json").is_file()
    assert any(line.startswith("mine") and line.count("%") == 1 for line in result.out.splitlines()), result.out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--splits", "main,p4"], "anira: GSM-Symbolic has no split 'p4': known: main, p1, p2"),
        (["--depth", "1:9", "--out", "x"], "anira: the model has at most depth 3: 4 cannot be forced"),
        (["--depth", "deep"], "anira: depths are written as 3:16 or 10,20,50, not 'deep'"),
        (["--limit", "0"], "anira: --limit must be at least 1, not 0"),
        (["--data", "nowhere"], "anira: nowhere is no folder: give the one that the files of GSM-Symbolic lie in"),
        (["--shots", "missing.jsonl"], "anira: cannot read missing.jsonl: No such file or directory"),
        (["--select", "sideways"], "sideways"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(gsm, place, words, complaint):
    before = sorted(place.rglob("*"))
    result = gsm(*words)
    assert (result.status, result.out) == (2, "")
    assert result.err.count("\n") == 1
    assert complaint in result.err
    assert sorted(place.rglob("*")) == before


def test_reproduce_without_models_says_what_to_run(anira, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = anira("reproduce", "gsm-symbolic", "--scale", "smoke")
    assert result.status == 2
    assert "anira gsm-symbolic MODEL --data DIR" in result.err
    assert result.err.count("\n") == 1
