"""The page of claims: gathered from what experiments stored, never from anything else."""

import json

import pytest

from anira.config import UserError, to_dict
from anira.measure.claims.paper import PAPER_CLAIMS
from anira.measure.claims.verdict import Evidence, make_claim
from anira.measure.statistics.estimates import Estimate
from anira.paper.claims.make import reproduce
from anira.paper.figures import FIGURES
from anira.paper.index import write_index
from anira.paper.setting import Setting

UP, DOWN = Estimate(0.3), Estimate(-0.3)


def claim(setting, estimates):
    evidence = [(f"{setting}-s{seed}", Evidence(seed, estimate)) for seed, estimate in enumerate(estimates)]
    return to_dict(make_claim("depth rises <b>", setting, evidence))


def store(out, name, claims, scale="cpu"):
    runs = [{"preset": "mano-anira-e-cpu", "shrunk": ["model.hidden_size 64 (256)"]}]
    out.mkdir(exist_ok=True)
    found = {"experiment": name, "scale": scale, "runs": runs, "claims": claims}
    (out / f"{name}.json").write_text(json.dumps(found))
    (out / f"{name}.html").write_text("a page")


def make(out):
    def train(name, runs, changes):
        raise AssertionError("claims need no run")

    return reproduce(Setting(scale="cpu", out=out, runs=out / "runs", train=train))


def test_verdicts_come_from_the_files(tmp_path):
    store(tmp_path, "allocation", {"follows-complexity": [claim("mano anira-e", [UP] * 3)]})
    store(tmp_path, "lano", {"follows-complexity": [claim("lano anira-e", [UP, UP, UP])]})
    store(tmp_path, "dynamics", {"easy-to-hard": [claim("mano anira-o", [DOWN] * 3)], "two-phases": []})
    outcome = make(tmp_path)
    found = json.loads((tmp_path / "claims.json").read_text())["verdicts"]
    assert tuple(found["follows-complexity"].values())[:2] == ("supported", "2 supported")
    assert found["easy-to-hard"]["verdict"] == "contradicted"
    assert {found[key]["verdict"] for key in PAPER_CLAIMS.keys() - {"follows-complexity", "easy-to-hard"}} == {
        "not looked at"
    }
    page = (tmp_path / "claims.html").read_text()
    for text in (
        "0.300 [0.300, 0.300] over 3 seeds",
        "model.hidden_size 64 (256)",
        '<a href="lano.html">lano</a>',
        "&lt;b&gt;",
    ):
        assert text in page
    for one in PAPER_CLAIMS.values():
        assert one.sentence in page
    assert "<a href" not in outcome.text
    assert {path.name for path in outcome.files} == {"claims.json", "claims.csv", "claims.html"}


def test_one_setting_that_disagrees_is_enough(tmp_path):
    store(tmp_path, "allocation", {"follows-complexity": [claim("a", [UP] * 3), claim("b", [UP, UP, DOWN])]})
    make(tmp_path)
    found = json.loads((tmp_path / "claims.json").read_text())["verdicts"]["follows-complexity"]
    assert (found["verdict"], found["reason"]) == ("inconclusive", "1 supported, 1 inconclusive")


def test_what_cannot_be_read_is_said(tmp_path):
    with pytest.raises(UserError, match="has no page yet that judges a claim"):
        make(tmp_path)
    store(tmp_path, "lano", {}, scale="smoke")
    with pytest.raises(UserError, match="is of scale smoke, not cpu: use another --out"):
        make(tmp_path)
    (tmp_path / "lano.json").write_text("{")
    with pytest.raises(UserError, match="make it again with anira reproduce lano"):
        make(tmp_path)


def test_claims_of_another_form_are_refused(tmp_path):
    old = claim("mano anira-e", [UP] * 3)
    del old["verdict"]
    store(tmp_path, "lano", {"follows-complexity": [old]})
    with pytest.raises(UserError, match=r"lano.json has claims of another form; make it again with"):
        make(tmp_path)


def test_what_was_not_made_is_named(tmp_path):
    store(tmp_path, "lano", {})
    make(tmp_path)
    absent = [name for name, figure in FIGURES.items() if name not in ("lano", "claims") and not figure.plan]
    page = (tmp_path / "claims.html").read_text()
    assert f"not counted: {', '.join(absent)} (anira reproduce all)." in page
    assert f"{len(PAPER_CLAIMS)} not looked at" in page


def test_the_index_lists_what_is_there(tmp_path):
    store(tmp_path, "lano", {})
    (tmp_path / "lano.csv").write_text("a,b\n")
    page = write_index(tmp_path).read_text()
    assert '<a href="lano.html">lano</a>' in page
    assert '<a href="lano.csv">lano.csv</a>' in page
    assert FIGURES["lano"].summary.split("'")[0] in page
    assert "Not made here yet: allocation, clrs" in page
