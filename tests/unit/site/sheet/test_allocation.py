"""The page of compute allocation: every figure of the records stands on it, and it needs nothing else."""

import re
from dataclasses import replace

import polars as pl
import pytest
from tests.page_support import check_page
from tests.unit.measure.pairs_support import pairable, with_seed

from anira.measure.claims.knob import judge_claims
from anira.measure.compare import Match, compare, judge_less_depth, shared_instances
from anira.paper.allocation.page import allocation_sheet, allocation_tables
from anira.site.plain import short
from anira.site.report.about import KnobWords
from anira.site.sheet.by_knob import KnobRun, control_cells, labels, looks
from anira.site.sheet.sheet import sheet_page, sheet_text

WORDS = KnobWords("L", "operators <in> the expression")
EARLY, ONLINE = {"variant": "anira-e", "slope": 0.6}, {"variant": "anira-o", "slope": 0.3, "draw": 1}


def run(figures, origin="found"):
    return KnobRun(origin=origin, knob=WORDS, max_length=11, figures=figures)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    root = tmp_path_factory.mktemp("allocation")
    early, online = pairable(root / "e", **EARLY), pairable(root / "o", **ONLINE)
    return [run(early), run(online, "trained in 2 s; not as the preset: <steps>")]


@pytest.fixture(scope="module")
def compared(runs):
    match = Match(*(one.figures for one in runs))
    return [(match, compare(shared_instances(match), draws=50))]


@pytest.fixture(scope="module")
def page(runs, compared):
    claims = [*judge_claims([one.figures for one in runs]), *judge_less_depth(compared)]
    return sheet_page(allocation_sheet(runs, compared, claims))


def test_the_page_shows_accuracy_and_depth_by_knob(page, runs):
    for one in runs:
        for row, depth in zip(one.figures.accuracy[:-1], one.figures.depth[:-1], strict=True):
            assert short(row.exact, 3) in page
            for estimate in (depth.answer, depth.answer_correct, depth.expected, depth.prompt):
                assert short(estimate) in page
    assert page.count("<svg viewBox") == 2


def test_the_page_shows_alignment_with_nulls_and_control(page, runs):
    for one in runs:
        for subset in ("all", "correct"):
            row = one.figures.aligned(subset=subset)
            for text in (
                short(row.slope, 3),
                short(row.spearman, 3),
                row.null_slope.text(3),
                row.null_spearman.text(3),
            ):
                assert text in page
        control = one.figures.position[0]
        assert (control.kind, control.separable) == ("answer", False)
        assert f"{control.by_position:.3f}" in page
    assert page.count("no, the position determines L") == 2


def test_the_page_shows_pairs_and_verdicts(page, compared):
    (_, found), *_ = compared
    for estimate in (*(one.exact for one in found.accuracies), found.depth, found.depth_both_right):
        assert short(estimate, 3) in page
    assert page.count("1 seed, and 3 are needed") == 5, "slope and Spearman of both, and the pair"


def test_the_page_is_whole_and_escaped(page):
    check_page(page)
    assert "&lt;steps&gt;" in page


def test_tables_hold_what_the_figures_draw(runs, compared):
    tables = allocation_tables(runs, compared)
    assert list(tables) == ["allocation", "allocation-alignment", "allocation-pairs"]
    row = tables["allocation"].row(5, named=True)
    accuracy, depth = runs[1].figures.accuracy[1], runs[1].figures.depth[1]
    assert (row["label"], row["knob"], row["accuracy"]) == ("anira-o", 2, accuracy.exact.value)
    assert (row["depth"], row["depth_low"]) == (depth.answer.value, depth.answer.low)
    slope = runs[0].figures.aligned().slope
    assert tables["allocation-alignment"].row(0, named=True)["slope_high"] == slope.high
    assert tables["allocation-pairs"]["depth_difference"].to_list() == [compared[0][1].depth.value]
    for table in tables.values():
        text = table.write_csv()
        assert "NaN" not in text
        assert pl.read_csv(text.encode()).columns == table.columns


def test_seeds_look_alike_and_are_named_apart(runs):
    seeds = [runs[0], run(with_seed(runs[0].figures, 1)), runs[1]]
    assert labels(seeds) == ["anira-e, seed 0", "anira-e, seed 1", "anira-o"]
    found = looks(seeds)
    assert found["anira-e, seed 0"] == found["anira-e, seed 1"] != found["anira-o"]
    assert [look.name for look in found.values()] == ["anira-e", "anira-e", "anira-o"]


def test_a_constant_depth_is_undefined_and_says_so(tmp_path):
    constant = run(pairable(tmp_path / "f", variant="fixed", max_depth=1, expected=False))
    sheet = allocation_sheet([constant], [], judge_claims([constant.figures]))
    page = sheet_page(sheet)
    assert "undefined: the depth is constant" in page
    assert control_cells([constant])[0]["separable"] == "the depth is constant"
    assert "there is nothing to compare" in page
    assert not re.search(r"\bnan\b", page + sheet_text(sheet), re.IGNORECASE)
    assert "allocation-pairs" not in allocation_tables([constant], [])


def test_one_knob_is_not_called_inseparable(tmp_path):
    alone = run(pairable(tmp_path / "e", knobs=(2,)))
    assert control_cells([alone])[0]["separable"] == "there is one L only"


def test_tasks_have_sections_of_their_own(runs):
    other = runs[1].figures
    brevo = replace(runs[1], figures=replace(other, labels=replace(other.labels, task="brevo")))
    sheet = allocation_sheet([runs[0], brevo], [], [])
    assert [section.title for section in sheet.sections[:2]] == ["MANO", "BREVO"]
    assert [one["label"] for one in sheet.runs] == ["mano anira-e", "brevo anira-o"]
