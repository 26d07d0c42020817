"""MANO's question tokens: from tiny runs to files, and from planted records to the page."""

import json

import polars as pl
import pytest
from tests.training_support import train_tiny
from tests.unit.measure.parse_state_support import Questions, follow_nothing, planted_table

from anira.config import UserError
from anira.paper.mano_parse_state.make import NAME, judged, reproduce
from anira.paper.mano_parse_state.page import make_page
from anira.paper.setting import Setting
from anira.site import render
from anira.site.tables import page_text


def small(name, out, changes):
    return train_tiny(out, name, steps=2, final_count=12, **changes)


def test_the_files_are_made_from_two_runs(tmp_path):
    outcome = reproduce(Setting(scale="smoke", out=tmp_path, runs=tmp_path / "runs", train=small))
    assert {path.name for path in outcome.files} == {f"{NAME}.json", f"{NAME}.csv", f"{NAME}-seeds.csv", f"{NAME}.html"}
    assert [run.preset for run in outcome.runs] == ["mano-anira-e-smoke", "mano-anira-o-smoke"]
    claims = outcome.claims["reads-while-solving"]
    stored = json.loads((tmp_path / f"{NAME}.json").read_text())["claims"]["reads-while-solving"]
    assert len(claims) == len(stored) == 8
    assert {claim.verdict.word for claim in claims} <= {"not testable", "inconclusive"}
    table = pl.read_csv(tmp_path / f"{NAME}.csv", infer_schema_length=None)
    assert {"need", "slope", "state_depth", "parse_term", "right_child", "parse_r2", "work_slope"} <= set(
        table["quantity"]
    )
    assert "These are smoke runs" in outcome.text


def test_a_run_of_another_task_is_refused(tmp_path):
    path = train_tiny(tmp_path / "other", "brevo-anira-e-smoke", steps=2)
    for variant in ("anira-e", "anira-o"):
        (tmp_path / "runs" / f"mano-{variant}-smoke").mkdir(parents=True)
    path.rename(tmp_path / "runs" / "mano-anira-e-smoke" / path.name)
    with pytest.raises(UserError, match="of task 'brevo', not of mano"):
        reproduce(Setting(scale="smoke", out=tmp_path, runs=tmp_path / "runs", train=small))


def found(root, *plans):
    table = pl.concat([planted_table(root / str(i), plan) for i, plan in enumerate(plans)])
    return judged(table)


def test_the_page_says_what_three_seeds_show(tmp_path):
    made = found(tmp_path, *(Questions(seed=seed, draw=seed, n=100) for seed in range(3)))
    page = make_page(made)
    assert page.badge.words == "supported: 4 of 4 settings support it"
    assert page.answer[0] == "Depth of question tokens rises with the state of the parse: ANIRA-E 2 supported."
    assert "Differences between states, iterations" in page_text(page)


def test_the_page_says_why_a_number_is_undefined(tmp_path):
    page = make_page(found(tmp_path, Questions(knobs=(1, 2, 3), n=40)))
    assert "s_t does not vary at equal position and d_t" in render(page)


def test_without_tokens_or_directions_there_are_sentences_instead_of_charts(tmp_path):
    none = make_page(found(tmp_path / "none", Questions(n=12, accuracy=0.0)))
    assert none.lead is None
    assert "No run has answered a question right" in render(none)
    flat = Questions(n=20, level=follow_nothing, noise=0.0, own=0.0, expected=False)
    page = make_page(found(tmp_path / "flat", flat))
    assert page.lead is None
    assert "the depth is constant" in render(page)
