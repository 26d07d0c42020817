import polars as pl
import pytest
from tests.report_support import FakeRun, write_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("runs"), FakeRun(count=20))


def test_a_report_is_written_and_its_path_printed(anira, folder, tmp_path):
    out = tmp_path / "page.html"
    result = anira("report", folder, "--out", out, "--csv", tmp_path / "tables")
    assert (result.status, result.out) == (0, f"{out}\n")
    assert result.err == f"wrote a report of 1 run ({out.stat().st_size:,} bytes)\n"
    html = out.read_text(encoding="utf-8")
    assert "L: operators in the expression" in html
    assert "MANO against the paper's setting" in html.replace("&#39;", "'")
    assert {path.name for path in tmp_path.iterdir()} == {"page.html", "tables"}
    table = pl.read_csv(tmp_path / "tables" / "report.csv", infer_schema_length=None)
    depths = table.filter(quantity="depth", subset="answer").drop_nulls("knob")
    assert depths["knob"].to_list() == [1, 2, 3, 4]


def test_folders_may_have_any_name(anira, tmp_path):
    odd = write_run(tmp_path / "my runs [1] * {a} ~ $x 'q' \x1b", FakeRun(count=20))
    out = tmp_path / "page [2]*.html"
    assert anira("report", odd, "--out", out, "--csv", tmp_path / "tables ?").status == 0
    assert out.read_text().startswith("<!doctype html>")
    result = anira("analyze", odd)
    assert result.status == 0
    assert "\x1b" not in result.out + result.err


def test_a_page_is_replaced(anira, folder, tmp_path):
    out = tmp_path / "page.html"
    out.write_text("old")
    assert anira("report", folder, "--out", out, "--no-tokens").status == 0
    assert out.read_text() != "old"
    assert "token by token" not in out.read_text()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "name at least one run folder"),
        (["{folder}", "--out", "page.pdf"], "must end in .html"),
        (["{folder}", "--out", "no/such/page.html"], "does not exist: no/such"),
        (["{folder}", "--csv", "{folder}/config.json"], "is a file"),
        (["{folder}", "--evaluation", "finale"], "did you mean 'final'"),
        (["no-such-run"], "no-such-run is no folder"),
    ],
)
def test_mistakes_are_one_line_before_any_work(anira, folder, tmp_path, monkeypatch, words, complaint):
    monkeypatch.chdir(tmp_path)
    result = anira("report", *(word.format(folder=folder) for word in words))
    assert (result.status, result.out) == (2, "")
    assert complaint in result.err
    assert result.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("bytes_per_file", [0, 500, 50_000])
def test_what_cannot_be_written_whole_leaves_nothing_behind(anira, folder, tmp_path, file_limit, bytes_per_file):
    with file_limit(bytes_per_file):
        result = anira("report", folder, "--out", tmp_path / "page.html", "--csv", tmp_path / "new" / "tables")
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith("anira: cannot write ")
    assert result.err.endswith(": File too large\n")
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_written_whole_leaves_the_old(anira, folder, tmp_path, file_limit):
    out, tables = tmp_path / "page.html", tmp_path / "tables"
    assert anira("report", folder, "--out", out, "--csv", tables).status == 0
    before = {path: path.read_bytes() for path in (out, *tables.iterdir())}
    with file_limit(50_000):
        assert anira("report", folder, "--out", out, "--csv", tables, "--instances", 2).status == 2
    assert {path: path.read_bytes() for path in (out, *tables.iterdir())} == before
