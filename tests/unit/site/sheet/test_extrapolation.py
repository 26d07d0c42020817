"""The page of extrapolation: every figure of the records stands on it, and the end of training is marked."""

import re

import polars as pl
import pytest
from tests.page_support import check_page
from tests.unit.measure.pairs_support import pairable

from anira.measure.compare import Match
from anira.measure.extrapolation import compare_rivals, judge_generalisation, judge_graceful, reach
from anira.paper.extrapolation.page import extrapolation_sheet, extrapolation_tables, training_limit
from anira.site.plain import short
from anira.site.report.about import KnobWords
from anira.site.sheet.by_knob import KnobRun
from anira.site.sheet.sheet import sheet_page

KNOBS, SEEN = (1, 2, 3, 4), (1, 2)
DASHED = r"stroke-dasharray: 6,4\.8"


def run(folder, right, **plan):
    figures = pairable(folder, right, **{"knobs": KNOBS, "seen": SEEN, **plan})
    return KnobRun(origin="found <here>", knob=KnobWords("L", "operators"), max_length=9, figures=figures)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    root = tmp_path_factory.mktemp("extrapolation")
    return [
        run(root / "o", {1: 1.0, 2: 0.95, 3: 0.55, 4: 0.45}, variant="anira-o", slope=0.4),
        run(root / "f", {1: 1.0, 2: 0.925, 3: 0.4, 4: 0.3}, variant="fixed", max_depth=1, expected=False),
    ]


@pytest.fixture(scope="module")
def compared(runs):
    match = Match(*(one.figures for one in runs))
    return [(match, compare_rivals(match, draws=50))]


@pytest.fixture(scope="module")
def page(runs, compared):
    claims = [*judge_generalisation([one.figures for one in runs]), *judge_graceful(compared)]
    return sheet_page(extrapolation_sheet(runs, [found for _, found in compared], claims))


def test_the_page_shows_where_accuracy_goes(page, runs):
    for one in runs:
        found = reach(one.figures)
        for estimate in (found.drop, found.last_drop, found.beyond.exact, found.limit.exact):
            assert short(estimate, 3) in page
        for row, depth in zip(one.figures.accuracy[:-1], one.figures.depth[:-1], strict=True):
            assert short(row.exact, 3) in page
            assert short(depth.answer) in page
    assert page.count("<svg viewBox") == 2
    assert "undefined: the depth is constant" in page


def test_the_page_shows_rivals_and_verdicts(page, compared):
    (_, found), *_ = compared
    for part in (found.seen, found.beyond, found.farthest):
        assert short(part.accuracy, 3) in page
    assert "anira-o less fixed" in page
    assert page.count("1 seed, and 3 are needed") == 3


def test_the_end_of_training_is_marked(page, runs):
    assert training_limit(runs) == 2
    assert len(re.findall(DASHED, page)) == 2, "one line a figure"


def test_without_a_shared_limit_no_line_is_drawn(runs, tmp_path):
    other = run(tmp_path / "e", None, variant="anira-e", seen=(1, 2, 3), n=12)
    assert training_limit([*runs, other]) is None
    page = sheet_page(extrapolation_sheet([*runs, other], [], []))
    assert not re.search(DASHED, page)
    assert "there is nothing to compare" in page


def test_the_page_is_whole_and_escaped(page):
    check_page(page)
    assert "&lt;here&gt;" in page
    assert not re.search(r"\bnan\b", page, re.IGNORECASE)


def test_tables_hold_what_the_page_shows(runs, compared):
    tables = extrapolation_tables(runs, [found for _, found in compared])
    assert tables["extrapolation"]["split"].to_list() == 2 * (2 * ["seen"] + 2 * ["extrapolation"])
    (row,) = tables["extrapolation-pairs"].iter_rows(named=True)
    assert (row["variants"], row["beyond_accuracy"]) == ("anira-o less fixed", compared[0][1].beyond.accuracy.value)
    assert (row["seen_instances"], row["does_not_count"]) == (80, "")
    for table in tables.values():
        assert pl.read_csv(table.write_csv().encode()).columns == table.columns
    assert "extrapolation-pairs" not in extrapolation_tables(runs, [])
