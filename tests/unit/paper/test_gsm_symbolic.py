"""The page of GSM-Symbolic on planted records: who is above the curve, and whose depth follows the splits."""

import pytest
from tests.gsm_support import Planted, write_planted

from anira.config import UserError
from anira.paper.gsm_symbolic.make import missing, reproduce
from anira.paper.gsm_symbolic.measure import above, judged, measured
from anira.paper.gsm_symbolic.page import make_page, paper_table, spread_table
from anira.paper.gsm_symbolic.runs import REPORTED
from anira.paper.gsm_symbolic.verdicts import answer, verdicts
from anira.paper.setting import Setting

SIZE = {"templates": 20, "instances": 4}


def better(knob, template, instance):
    """Right in more templates than any fixed depth below 3."""
    return template % 10 < 6 or (template + instance) % 5 == 0


def curve(depth):
    return lambda knob, template, instance: template % 10 < 2 * depth


def write_model(runs, name, **how):
    return write_planted(runs / "gsm-symbolic" / name / "records" / "final", Planted(name=name, **SIZE, **how))


def planted(root):
    """A fixed model with its curve, one whose depth rises with the splits, and one whose depth does not."""
    write_model(root, "base", right=curve(3), depth=lambda *place: 3, policy="fixed")
    for depth in (1, 2, 3):
        at = Planted(name="base", policy="fixed", right=curve(depth), depth=lambda *place: 3, forced=depth, **SIZE)
        write_planted(root / "gsm-symbolic" / "base" / "records" / f"depth-{depth}", at)
    write_model(root, "rising", right=better, depth=lambda knob, t, i: min(3, 1 + knob + (t + i) % 2))
    write_model(root, "level", right=curve(1), depth=lambda knob, t, i: 1 + (t + i) % 2)
    return root


def measured_of(runs):
    return measured(sorted((runs / "gsm-symbolic").iterdir()), draws=100)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return planted(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def found(runs):
    return measured_of(runs)


def setting(runs, out):
    return Setting(scale="smoke", out=out, runs=runs, train=lambda *words: runs)


def test_models_are_held_against_the_curve_of_the_fixed_one(found):
    assert (found.words["reference"], judged(found)) == ("base", ["level", "rising"])
    gain = above(found, "rising", 0)
    assert gain["subset"] == "all, curve of base"
    own = found.row("accuracy", run_id="rising", knob=0)["value"]
    assert gain["value"] == pytest.approx(own - (0.2 + 0.4) / 2)
    assert above(found, "level", 0)["value"] == pytest.approx(0.2 - (0.2 + 0.4) / 2)


def test_verdicts_say_who_follows_the_splits_and_who_earned_it(found):
    lines = answer(found)
    assert lines[0] == "Answer depth rises with the number of clauses in 1 of 2 models: rising."
    assert lines[1] == "On Main, more accurate than a fixed depth of the same mean: rising."
    said = {note.head: note.text for note in verdicts(found)}
    assert "Answer depth rises with the number of clauses" in said["rising"]
    assert "Answer depth does not follow the number of clauses (Spearman 0.00" in said["level"]
    assert "on the shared templates" in said["level"]


def test_the_papers_lines_stand_above_ours(found):
    table = paper_table(found)
    names = [row[0].text for row in table.rows]
    assert names == [*REPORTED, "base", "level", "rising"]
    assert [cell.text for cell in table.rows[2]] == ["ANIRA-O", "43.68%", "23.02%", "5.08%", "4.108", "4.105", "4.001"]
    assert [cell.text for cell in table.rows[3]][1:4] == ["60.0%"] * 3
    assert all(cell.small.startswith("[") for row in table.rows[3:] for cell in row[1:])


def test_spread_stands_beside_chance(found):
    (row,) = [row for row in spread_table(found).rows if row[0].text == "base"]
    assert [cell.text for cell in row[1:4]] == ["0.00%", "[0.00, 0.00]", "60.0 to 60.0"]


def test_reproduce_writes_page_table_and_json(runs, tmp_path):
    made = setting(runs, tmp_path)
    assert missing(made) == []
    outcome = reproduce(made)
    assert {path.name for path in outcome.files} == {"gsm-symbolic.html", "gsm-symbolic.csv", "gsm-symbolic.json"}
    assert len(outcome.runs) == 3
    page = (tmp_path / "gsm-symbolic.html").read_text()
    for head in ("The fair baseline", "Shared templates", "One model per line"):
        assert f"<dt>{head}" in page or f"<h2>{head}" in page
    assert "Answer depth rises" in outcome.text.splitlines()[2]


def test_without_a_curve_the_page_says_what_is_missing(tmp_path):
    write_model(tmp_path, "alone", right=curve(1), depth=lambda knob, t, i: 1 + (t + i) % 2)
    found = measured([tmp_path / "gsm-symbolic" / "alone"], draws=50)
    assert "no fixed-depth curve" in answer(found)[1]
    titles = [section.title for section in make_page(found).sections]
    assert "The fair baseline: fixed depths" in titles
    assert "It cannot be held against fixed depths: no fixed-depth curve" in verdicts(found)[0].text


def test_without_models_one_line_says_what_to_run(tmp_path):
    with pytest.raises(UserError, match=r"no model was evaluated .* anira gsm-symbolic MODEL --data DIR --depth 1:8"):
        missing(setting(tmp_path, tmp_path))


def test_only_fixed_models_leave_nothing_to_judge(runs):
    found = measured([runs / "gsm-symbolic" / "base"], draws=20)
    assert answer(found) == ["No model here chooses its depth: there is nothing to judge, only the fixed-depth curve."]
    assert verdicts(found) == []
