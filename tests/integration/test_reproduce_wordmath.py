"""`anira reproduce wordmath`: from nothing to a page, and from what is there."""

import pytest

from anira.paper.wordmath import runs


@pytest.mark.slow
def test_from_nothing_then_from_what_is_there(anira, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runs, "SEEDS", (0,))
    first = anira("reproduce", "wordmath", "--scale", "smoke")
    assert first.status == 0, first.err
    assert "4 runs of wordmath-anira-e-smoke" in first.err
    page = (tmp_path / "reproduced/smoke/wordmath.html").read_text()
    assert "no verdict yet, it takes three seeds" in page
    assert "These are smoke runs" in page
    splits = [line.split()[:2] for line in first.out.splitlines() if line[1:3] == " ("]
    assert splits == [["4", "(Main)"], ["5", "(P1)"], ["6", "(P2)"]]
    second = anira("reproduce", "wordmath", "--scale", "smoke")
    assert "to be trained" not in second.err
    assert "evaluating" not in second.err
    assert (tmp_path / "reproduced/smoke/wordmath.html").read_text() == page
