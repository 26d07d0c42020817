"""The page of MANO's question tokens: every figure of the records stands on it, and it needs nothing else."""

import re

import polars as pl
import pytest
from tests.page_support import check_page
from tests.unit.measure.parse_state_support import LAW, Questions, follow_nothing, write_questions

from anira.measure.claims.parse_state import judge_reading
from anira.measure.mano.parse_state import parse_state_figures
from anira.paper.mano_parse_state.page import parse_state_sheet
from anira.paper.mano_parse_state.tables import (
    SHARES,
    ParseStateRun,
    contrast_table,
    explained_table,
    model_table,
    state_table,
)
from anira.site.plain import short
from anira.site.sheet.sheet import sheet_page, sheet_text


def made(folder, plan, origin="found"):
    return ParseStateRun(origin=origin, figures=parse_state_figures(write_questions(folder, plan), draws=20))


def sheet(runs):
    return parse_state_sheet(runs, judge_reading([run.figures for run in runs]), LAW, 0.63)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    root = tmp_path_factory.mktemp("parse")
    other = Questions(knobs=(1, 2, 3), n=40, variant="anira-o", draw=1)
    return [
        made(root / "e", Questions(n=40)),
        made(root / "o", other, origin="trained in 2 s; not as the preset: <steps>"),
    ]


def test_tables_hold_every_figure(runs):
    figures = [run.figures for run in runs]
    states, model = state_table(runs), model_table(runs, LAW)
    contrasts, explained = contrast_table(runs), explained_table(runs)
    assert len(states) == sum(len(one.states) for one in figures)
    assert states["mean"].to_list() == [row.mean.value for one in figures for row in one.states]
    assert states["deviation"].to_list() == [row.deviation for one in figures for row in one.states]
    assert model["coefficient_low"].to_list() == [row.estimate.low for one in figures for row in one.coefficients]
    assert model.filter(label="anira-e", measure="exit_depth")["paper"].to_list() == list(LAW.values())
    assert contrasts["matched"].to_list() == [row.matched.value for one in figures for row in one.contrasts]
    assert explained["beyond_position"].to_list() == [
        row.beyond_position.value for one in figures for row in one.explained
    ]
    for table in (states, model, contrasts, explained):
        assert table["label"].unique(maintain_order=True).to_list() == ["anira-e", "anira-o"]
        assert pl.read_csv(table.write_csv().encode()).columns == table.columns
        assert not any(table[name].is_nan().any() for name in table.columns if table[name].dtype == pl.Float64)


def test_the_page_shows_the_figures(runs):
    page = sheet_page(sheet(runs))
    for run in runs:
        figures = run.figures
        shown = [
            *(short(row.mean) for row in figures.states),
            *(short(row.estimate, 3) for row in figures.coefficients),
            *(short(one) for row in figures.contrasts for one in (row.plain, row.matched)),
            *(short(getattr(row, name), 3) for row in figures.explained for name in SHARES),
            *(row.null_plain.text(2) for row in figures.contrasts if row.null_plain),
            *(row.null_model.text(3) for row in figures.explained),
            figures.labels.run_id,
            figures.accuracy.exact.text(3),
        ]
        assert [text for text in shown if text not in page] == []
    assert page.count("<svg viewBox") == 6
    for text in ("R2 of 0.63", "0.350", "1 seed, and 3 are needed", "At equal position and d_t", "at most 8 operators"):
        assert text in page


def test_the_page_says_why_a_figure_is_undefined(runs):
    page = sheet_page(sheet(runs))
    assert "s_t does not vary at equal position and d_t (anira-o)" in page
    assert "nan" not in re.sub(r"<style>.*?</style>|<svg.*?</svg>", "", page, flags=re.DOTALL).lower()


def test_the_page_is_whole_and_escaped(runs):
    page = sheet_page(sheet(runs))
    check_page(page)
    assert "&lt;steps&gt;" in page
    assert page == sheet_page(sheet(runs))


def test_the_text_has_the_tables(runs):
    text = sheet_text(sheet(runs))
    for title in ("Exit depth by the state of the parse", "The piecewise model of expected depth", "verdict"):
        assert title in text


def test_without_a_right_answer_there_are_words_instead_of_figures(tmp_path, runs):
    none = made(tmp_path / "none", Questions(n=12, accuracy=0.0))
    alone = sheet_page(sheet([none]))
    assert "No run has answered a question right" in alone
    assert "<svg viewBox" not in alone
    assert "no such tokens (anira-e)" in alone
    beside = sheet_page(sheet([none, runs[1]]))
    assert "anira-e has answered no question right" in beside
    assert beside.count("<svg viewBox") == 6


def test_seeds_look_like_their_variant(tmp_path, runs):
    """Three runs of E, and none of them looks like a variant that is not there."""
    seeds = [made(tmp_path / str(seed), Questions(n=12, seed=seed)) for seed in (1, 2)]
    pair, many = (sheet(some).sections[0] for some in (runs, [runs[0], *seeds, runs[1]]))
    assert list(many.looks) == ["anira-e, seed 0", "anira-e, seed 1", "anira-e, seed 2", "anira-o"]
    assert many.legend == pair.legend


def test_a_run_that_has_not_learned_the_task_is_named(tmp_path):
    page = sheet_page(sheet([made(tmp_path, Questions(knobs=(2,), n=40, accuracy=0.1))]))
    assert re.search(r"anira-e has \d questions right, not more than the commonest answer would", page)
    assert "(not above the commonest answer)" in page


def test_a_constant_depth_without_a_distribution_is_shown(tmp_path):
    flat = Questions(n=20, level=follow_nothing, noise=0.0, own=0.0, expected=False)
    page = sheet_page(sheet([made(tmp_path, flat)]))
    assert "the depth is constant (anira-e)" in page
    assert "5.00 [5.00, 5.00]" in page
    assert page.count("<svg viewBox") == 3
    assert "Expected depth" not in page
