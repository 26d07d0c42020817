"""The page of LANO: every figure of the records stands on it, and it needs nothing else."""

import polars as pl
import pytest
from tests.page_support import check_page
from tests.unit.measure.lano_support import Strings, write_strings, write_untrained

from anira.measure.lano import PROXIES, lano_figures
from anira.paper.lano.page import LanoRun, correlation_table, labels, lano_sheet
from anira.site.plain import short
from anira.site.sheet.sheet import sheet_page

PAPER = {"ops_mul": {"anira-e": 0.645, "anira-o": 0.49}}


def made(folder, plan, origin="found"):
    write_strings(folder, plan)
    untrained = write_untrained(folder / "untrained.parquet", folder, (-0.1, 0.1))
    figures = lano_figures(folder, folder, untrained, draws=50)
    return LanoRun(origin=origin, start_symbol=16, floor=0.411, figures=figures)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    root = tmp_path_factory.mktemp("lano")
    return [
        made(root / "e", Strings(n=30, effect=0.3, impossible=5)),
        made(root / "o", Strings(n=30, variant="anira-o", draw=1), origin="trained in 2 s; not as the preset: <steps>"),
    ]


def test_the_table_has_a_row_for_everything(runs):
    table = correlation_table(runs, PAPER)
    assert len(table) == 2 * 2 * 2 * len(PROXIES)
    row = table.row(by_predicate=_is("anira-e", "possible", "predicts", "ops_mul"), named=True)
    expected = runs[0].figures.row("possible", "predicts", "ops_mul")
    assert (row["pooled"], row["pooled_low"], row["pooled_high"]) == _parts(expected.pooled)
    assert (row["given_input"], row["given_input_low"], row["given_input_high"]) == _parts(expected.given_input)
    assert (row["null_within_low"], row["paper"]) == (expected.null_within.low, 0.645)
    assert (row["untrained_pooled_0"], row["untrained_given_input_1"]) == (
        expected.untrained.pooled[0],
        expected.untrained.given_input[1],
    )
    shifted = table.row(by_predicate=_is("anira-e", "possible", "reads", "ops_mul"), named=True)
    assert shifted["paper"] is None
    assert "pooled" in pl.read_csv(table.write_csv().encode()).columns


def _is(label, token_set, alignment, proxy):
    return (
        (pl.col("label") == label)
        & (pl.col("token_set") == token_set)
        & (pl.col("alignment") == alignment)
        & (pl.col("proxy") == proxy)
    )


def _parts(estimate):
    return estimate.value, estimate.low, estimate.high


def test_the_page_shows_the_figures(runs):
    page = sheet_page(lano_sheet(runs, PAPER))
    for run in runs:
        for token_set in ("grammatical", "possible"):
            for proxy in PROXIES:
                row = run.figures.row(token_set, "predicts", proxy)
                for estimate in (row.pooled, row.given_position, row.given_input, row.within):
                    assert short(estimate, 3) in page
                for values in (row.untrained.pooled, row.untrained.given_input):
                    assert f"{min(values):+z.3f} to {max(values):+z.3f}" in page
        assert run.figures.cross_entropy.text(4) in page
        assert run.figures.grammatical.text(3) in page
        assert run.figures.labels.run_id in page
    for text in ("+0.645", "+0.490", "0.4110", *PROXIES.values(), "Hollow markers"):
        assert text in page
    assert page.count("<svg viewBox") == 6


def test_the_page_is_whole_and_escaped(runs):
    page = sheet_page(lano_sheet(runs, PAPER))
    check_page(page)
    assert "&lt;steps&gt;" in page
    assert page == sheet_page(lano_sheet(runs, PAPER))


def test_a_set_without_tokens_has_words_instead_of_a_figure(tmp_path):
    page = sheet_page(lano_sheet([made(tmp_path / "s", Strings(n=12, impossible=12))], {}))
    assert "there is nothing to correlate" in page
    assert page.count("<svg viewBox") == 3
    assert "Hollow markers" not in page


def test_runs_are_told_apart_by_as_little_as_possible(tmp_path):
    plans = [Strings(n=12), Strings(n=12, variant="anira-o"), Strings(n=12, variant="anira-o", seed=1)]
    own = [made(tmp_path / str(i), plan) for i, plan in enumerate(plans)]
    assert labels(own) == ["anira-e", "anira-o, seed 0", "anira-o, seed 1"]
    assert labels([own[0], own[0]]) == ["anira-e, seed 0 (lano/anira-e-s0)"] * 2
