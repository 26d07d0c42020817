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
    assert "Difficulty is set by the knob L: operators in the expression." in html
    assert "modulus 5 (23)" in html  # against the paper's preset
    assert {path.name for path in tmp_path.iterdir()} == {"page.html", "tables"}
    depths = pl.read_csv(tmp_path / "tables" / "depth_by_knob.csv")
    assert depths["knob"].to_list() == [1, 2, 3, 4]


def test_a_page_is_replaced(anira, folder, tmp_path):
    out = tmp_path / "page.html"
    out.write_text("old")
    assert anira("report", folder, "--out", out, "--instances", 0).status == 0
    assert out.read_text() != "old"
    assert "Token by token" not in out.read_text()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "name at least one run folder"),
        (["{folder}", "--out", "page.pdf"], "must end in .html"),
        (["{folder}", "--out", "no/such/page.html"], "does not exist: no/such"),
        (["{folder}", "--instances", "-1"], "must not be negative"),
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


def test_a_page_that_cannot_be_written_leaves_nothing_behind(anira, folder, tmp_path, monkeypatch):
    def full(self, text, encoding):
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr("pathlib.Path.write_text", full)
    result = anira("report", folder, "--out", tmp_path / "page.html")
    assert result.status == 2
    assert "No space left on device" in result.err
    assert not list(tmp_path.iterdir())
