"""The page of BREVO's regression: every figure of the records stands on it, and it needs nothing else."""

import re

import polars as pl
import pytest
from tests.page_support import check_page
from tests.unit.measure.brevo_support import Graphs, write_graphs

from anira.measure.brevo.contrast import contrast, judge_contrasts
from anira.measure.brevo.regression import SHOWN, brevo_regression
from anira.measure.brevo.tokens import FEATURES, read_answer_tokens
from anira.measure.records.loading import load_evaluation
from anira.paper.brevo_regression.page import regression_sheet
from anira.paper.brevo_regression.tables import PaperVariant, RegressionRun, coefficient_table, fit_table, stage_table
from anira.site.plain import short
from anira.site.sheet.sheet import sheet_page, sheet_text

KNOWN = PaperVariant(
    coefficients={"dfs_depth": -0.005},
    final={"dfs_depth": 0.303},
    delta_linear={"dfs_depth": 0.0516},
    delta_categorical={"dfs_depth": 0.0512},
    retention={"dfs_depth": 0.992},
    r2_linear=0.6866,
    r2_categorical=0.7337,
    expected_gain=0.11,
)
PAPER = {"anira-e": KNOWN}


def made(folder, plan):
    tokens = read_answer_tokens(load_evaluation(write_graphs(folder, plan)))
    return tokens, brevo_regression(tokens, draws=30)


def sheet_of(early, online, paper=PAPER, origin="found"):
    contrasts = [contrast(early, online, draws=30)]
    runs = [RegressionRun(origin=origin, figures=one[1]) for one in (early, online)]
    return runs, contrasts, regression_sheet(runs, contrasts, judge_contrasts(contrasts), paper)


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    root = tmp_path_factory.mktemp("brevo")
    early = made(root / "e", Graphs(effects={"dfs_depth": 0.3, "out_degree_dep": 0.2}))
    online = made(root / "o", Graphs(variant="anira-o", effects={"dfs_depth": 0.3}, draw=1))
    return sheet_of(early, online, origin="trained in 2 s; not as the preset: <steps>")


def test_every_number_stands_on_the_page(shown):
    runs, contrasts, sheet = shown
    page, text = sheet_page(sheet), sheet_text(sheet)
    for run in runs:
        for row in run.figures.main:
            for estimate in (row.coefficient, row.given_position, row.within):
                assert short(estimate, 3) in page
                assert short(estimate, 3) in text
            assert row.null_within.text(3) in page
        for row in run.figures.final:
            assert short(row.coefficient, 3) in page
            assert f"{100 * row.delta_linear.value:.2f} [" in page
        assert f"{100 * run.figures.fits.categorical.value:.2f} [" in page
        assert f"{100 * run.figures.fits.expected_gain.value:.2f} [" in page
        assert short(run.figures.groups.share, 3) in page
        assert f"{100 * run.figures.position.by_both:.1f}" in page
        assert run.figures.labels.run_id in page
    assert short(contrasts[0].difference, 3) in page
    known = ("-0.005", "+0.303", "5.16", "5.12", "0.99", "68.66", "73.37", "<td>11</td>")
    for part in (*known, "1 seed, and 3 are needed", *FEATURES.values()):
        assert part in page
    assert page.count("<svg viewBox") == 4


def test_the_page_is_whole_and_escaped(shown):
    page = sheet_page(shown[2])
    check_page(page)
    assert "&lt;steps&gt;" in page
    assert "nan" not in re.sub(r"<[^>]*>", "", page).lower().split()
    assert page == sheet_page(shown[2])


def test_the_tables_hold_what_the_figures_say(shown):
    runs = shown[0]
    main = coefficient_table(runs, PAPER)
    assert main.select("label", "feature").rows() == [
        (label, feature) for label in ("anira-e", "anira-o") for feature in SHOWN
    ]
    row, expected = main.row(1, named=True), runs[0].figures.main[1]
    assert (row["coefficient"], row["within_low"]) == (expected.coefficient.value, expected.within.low)
    assert (row["paper"], row["p_holm"], row["null_within"]) == (-0.005, expected.p_value, expected.null_within.mean)
    stages = stage_table(runs, PAPER).filter(feature="dfs_depth", label="anira-e").row(0, named=True)
    assert (stages["paper_delta_linear"], stages["group"], stages["dropped"]) == (0.0516, "state", "")
    assert stages["paper_retention"] == 0.992
    fits = fit_table(runs, PAPER)
    linear = fits.filter(figure="linear", label="anira-e").row(0, named=True)
    assert (linear["value"], linear["paper"]) == (runs[0].figures.fits.linear.value, 0.6866)
    assert fits.filter(figure="expected_gain", label="anira-e")["paper"].item() == 0.11
    assert {"share", "read", "position: by_both"} <= set(fits["figure"])
    for table in (main, stages and stage_table(runs, PAPER), fits):
        assert "label" in pl.read_csv(table.write_csv().encode()).columns


def test_runs_without_right_answers_are_said_in_words(tmp_path):
    early = made(tmp_path / "e", Graphs(accuracy=0.0))
    online = made(tmp_path / "o", Graphs(variant="anira-o", flat=True))
    runs, _, sheet = sheet_of(early, online)
    page = sheet_page(sheet)
    assert "anira-e: no instance was answered right, and 50 are needed." in page
    assert "anira-o: the expected depth is constant." in page
    assert "not testable" in page
    assert "<svg viewBox" not in page
    assert coefficient_table(runs, PAPER).is_empty()


def test_runs_of_other_seeds_are_not_compared(shown):
    page = sheet_page(regression_sheet(shown[0], [], judge_contrasts([]), PAPER))
    assert "No run of ANIRA-O has the seed of a run of ANIRA-E" in page
    assert "Verdict" not in page


def test_one_fitted_run_is_shown_without_the_other(tmp_path):
    early = made(tmp_path / "e", Graphs())
    online = made(tmp_path / "o", Graphs(variant="anira-o", accuracy=0.0))
    page = sheet_page(sheet_of(early, online, paper={})[2])
    assert "anira-o: no instance was answered right" in page
    assert short(early[1].main[0].coefficient, 3) in page
