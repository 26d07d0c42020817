"""The regression of BREVO from runs to files, and from planted records to the page."""

import json

import polars as pl
import pytest
from tests.training_support import train_tiny
from tests.unit.measure.brevo_support import Graphs, read_graphs

from anira.config import UserError
from anira.measure.tidy import make_table
from anira.paper.brevo_regression.make import NAME, judged, reproduce, token_rows
from anira.paper.brevo_regression.page import make_page
from anira.paper.setting import Setting
from anira.site import render
from anira.site.tables import page_text


def setting_of(folder):
    def train(name, out, changes):
        return train_tiny(out, name, steps=2, **changes)

    return Setting(scale="smoke", out=folder, runs=folder / "runs", train=train)


def test_runs_that_learned_nothing_say_so(tmp_path):
    outcome = reproduce(setting_of(tmp_path))
    assert {path.name for path in outcome.files} == {f"{NAME}.json", f"{NAME}.csv", f"{NAME}-seeds.csv", f"{NAME}.html"}
    (claim,) = outcome.claims["e-structure-o-state"]
    assert claim.verdict.word == "not testable"
    assert "answered right, and 50 are needed" in outcome.text
    assert "These are smoke runs" in outcome.text
    stored = json.loads((tmp_path / f"{NAME}.json").read_text())
    assert len(stored["claims"]["e-structure-o-state"]) == 1
    assert {"node_effect", "need", "state_share_gap"} <= set(pl.read_csv(tmp_path / f"{NAME}.csv")["quantity"])


def test_a_run_of_another_task_is_refused(tmp_path):
    path = train_tiny(tmp_path / "runs", "mano-anira-e-smoke", steps=2)
    (tmp_path / "runs" / "brevo-anira-e-smoke").mkdir()
    path.rename(tmp_path / "runs" / "brevo-anira-e-smoke" / path.name)
    with pytest.raises(UserError, match="is a run of task 'mano', not of brevo"):
        reproduce(setting_of(tmp_path))


def found(root, *plans):
    tokens = [read_graphs(root / str(i), plan) for i, plan in enumerate(plans)]
    return judged(make_table(token_rows(tokens, draws=10)))


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    early = Graphs(effects={"dfs_depth": 0.3, "out_degree_dep": 0.2})
    online = Graphs(variant="anira-o", effects={"dfs_depth": 0.3}, draw=1)
    return found(tmp_path_factory.mktemp("brevo"), early, online)


def test_the_page_shows_both_models_beside_the_paper(shown):
    page = make_page(shown)
    html = render(page)
    for text in ("N x place alone", "final model without READ", "frontier as the nodes that were met", "r = 0."):
        assert text in html
    text = page_text(page)
    assert "hub structure (out-degree)" in text
    assert "0.134" in text
    assert "0.302" in text


def test_a_page_without_a_pair_or_a_fit_has_sentences(tmp_path):
    alone = make_page(found(tmp_path / "alone", Graphs(effects={"dfs_depth": 0.3})))
    assert alone.badge.words == "not testable"
    assert "there is nothing to compare" in alone.answer[0]
    none = make_page(found(tmp_path / "none", Graphs(flat=True)))
    assert none.lead is None
    html = render(none)
    assert "has no fit: the expected depth is constant" in html
    assert "nothing to draw" in html
