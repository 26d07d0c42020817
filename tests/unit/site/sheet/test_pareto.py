"""The page of the Pareto frontier: every point stands on it, and it needs nothing else."""

import re

import polars as pl
import pytest

from anira.measure.pareto import Frontier, Point
from anira.measure.statistics.estimates import Estimate
from anira.measure.summary import Labels
from anira.paper.pareto.page import ParetoRun, pareto_sheet, point_table
from anira.site.plain import short
from anira.site.sheet.sheet import sheet_page, sheet_text

RULES = (("mode", None), ("median", None), ("mean", None), ("quantile", 0.1), ("quantile", 1.0))


def near(value):
    return Estimate(value, value - 0.02, value + 0.02)


def point(i, select, threshold, *, virtual=False, beaten=""):
    return Point(
        select=select,
        threshold=threshold,
        accuracy=near(0.8 + 0.031 * i),
        answer_depth=near(1.5 + 0.37 * i),
        read_depth=near(1.4 + 0.37 * i),
        depth=near(1.2 + 0.29 * i),
        virtual=virtual,
        beaten_on_answers=beaten,
        beaten_on_all="",
    )


def made(task, variant, points, *, seed=0, origin="found"):
    labels = Labels(
        evaluation="records",
        run_id=f"{task}-{variant}/s{seed}",
        task=task,
        subtask="",
        variant=variant,
        seed=seed,
        step=9000,
        select="mode",
        threshold=None,
        decode="parallel",
        override="",
        max_depth=4,
        config={},
    )
    figures = Frontier(
        labels=labels,
        instances=1500,
        knobs=(1, 2, 3),
        majority=0.25,
        points=tuple(points),
        tests=20,
        warnings=("knob 3 has 499 of 500 instances",),
    )
    return ParetoRun(origin=origin, figures=figures)


@pytest.fixture(scope="module")
def runs():
    e = [point(i, *rule, beaten="mean" if i == 4 else "") for i, rule in enumerate(RULES)]
    o = [point(i, *rule, virtual=i == 0) for i, rule in enumerate(RULES)]
    return [
        made("brevo", "anira-e", e),
        made("brevo", "anira-o", o, origin="trained in 2 s; not as the preset: <steps>"),
        made("mano", "anira-o", o),
        made("mano", "anira-o", o, seed=1),
        made("mano", "fixed", [point(2, "", None)]),
    ]


@pytest.fixture(scope="module")
def page(runs):
    return sheet_page(pareto_sheet(runs))


def test_the_table_has_a_row_for_every_run_and_rule(runs):
    table = point_table(runs)
    labels = ["brevo anira-e", "brevo anira-o", "mano anira-o, seed 0", "mano anira-o, seed 1"]
    expected = [(label, *rule) for label in labels for rule in RULES]
    assert table.select("label", "select", "threshold").rows() == [*expected, ("mano fixed", "", None)]
    row, shown = table.row(4, named=True), runs[0].figures.points[4]
    assert (row["accuracy"], row["accuracy_low"], row["accuracy_high"]) == (
        shown.accuracy.value,
        shown.accuracy.low,
        shown.accuracy.high,
    )
    assert (row["depth"], row["beaten_on_answers"], row["virtual"]) == (shown.depth.value, "mean", False)
    assert pl.read_csv(table.write_csv().encode())["threshold"].dtype == pl.Float64


def test_every_number_stands_on_the_page(runs, page):
    for run in runs:
        for one in run.figures.points:
            assert short(one.accuracy, 3) in page
            assert short(one.answer_depth) in page
            assert short(one.depth) in page
        assert run.figures.labels.run_id in page
    assert short(runs[1].figures.points[0].read_depth) in page
    assert "knob 3 has 499 of 500 instances" in page


def test_virtual_readout_is_labelled_and_dominance_named(page):
    assert page.count("mode, virtual") == 3
    assert page.count("by mean") == 1


def test_there_are_two_figures_a_task_and_one_legend_entry_a_variant(page):
    assert page.count("<svg viewBox") == 4
    assert page.count("</svg>anira-o</li>") == 2, "seeds share a look"


def test_dominated_points_are_hollow(runs):
    """One more hollow marker on the figure in which a point is dominated."""
    on_answers, on_all = pareto_sheet(runs).sections[0].panels
    assert on_answers.count("fill: var(--paper)") == on_all.count("fill: var(--paper)") + 1


def test_the_page_needs_nothing_else_and_is_escaped(page):
    assert not re.search(r"(?:src|href)=\"(?!data:|#)", page)
    assert "&lt;steps&gt;" in page
    assert "<steps>" not in page
    assert "nan" not in page.lower().replace("dominan", "")


def test_the_text_has_the_tables(runs):
    text = sheet_text(pareto_sheet(runs))
    assert "quantile 0.1" in text
    assert "MANO" in text
