"""The page of training dynamics: every figure stands on it, and it needs nothing else."""

import re

import polars as pl
import pytest
from tests.page_support import check_page
from tests.unit.measure.dynamics_support import Training, write_training

from anira.measure.training.dynamics import dynamics_claims, dynamics_figures
from anira.measure.training.order import LearnedSize
from anira.paper.dynamics.page import DynamicsRun, dynamics_sheet, dynamics_tables, labels, learned_text
from anira.site.plain import short
from anira.site.report.about import KnobWords
from anira.site.sheet.sheet import sheet_page, sheet_text

KNOB = KnobWords("L", "operators in the expression")


def made(folder, origin="found", **planted):
    figures = dynamics_figures(write_training(folder, Training(**planted)), draws=50)
    return DynamicsRun(origin=origin, knob=KNOB, figures=figures)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    root = tmp_path_factory.mktemp("dynamics")
    return [
        made(root / "e", variant="anira-e"),
        made(root / "o", seed=1, kept=(300,), learned={1: 150.0, 2: 450.0, 3: 5000.0}),
        made(root / "warm", "trained in 2 s; not as the preset: <steps>", warm_up=300),
        made(root / "short", steps=(10, 20), seed=1, warm_up=300),
    ]


@pytest.fixture(scope="module")
def sheet(runs):
    found = dynamics_claims([run.figures for run in runs])
    return dynamics_sheet(runs, [claim for claims in found.values() for claim in claims])


@pytest.fixture(scope="module")
def page(sheet):
    return sheet_page(sheet)


def test_runs_are_named_by_schedule_variant_and_seed(runs):
    assert labels(runs) == [
        "MANO, constant \u03b3, anira-e",
        "MANO, constant \u03b3, anira-o",
        "MANO, \u03b3 warmed up, anira-o, seed 0",
        "MANO, \u03b3 warmed up, anira-o, seed 1",
    ]


def test_tables_hold_what_is_drawn(runs):
    tables = dynamics_tables(runs)
    assert list(tables) == ["dynamics", "dynamics-order", "dynamics-phases", "dynamics-batches"]
    curve, order, phases, batches = tables.values()
    assert [len(table) for table in tables.values()] == [36 * 3 + 6, 9, 4, 120 * 3 + 20]
    kept = curve.filter(variant="anira-o", seed=1, step=300)
    assert kept["depth_low"].null_count() == 0
    assert curve.filter(step=400)["depth_low"].null_count() == 9
    assert order.filter(knob=3)["step"].to_list() == [900, None, 900]
    first = runs[0].figures
    assert phases.row(0, named=True)["fall_low"] == first.phases.fall.low
    assert phases["gamma_warmup_steps"].to_list() == [0, 0, 300, 300]
    assert phases["kendall"].null_count() == 1
    assert batches["gamma"].unique().to_list() == [0.01]
    assert "accuracy_high" in pl.read_csv(curve.write_csv().encode()).columns


def test_the_page_shows_every_figure(runs, sheet, page):
    for run in runs:
        figures = run.figures
        for estimate in (figures.phases.rise, figures.phases.fall, figures.phases.kept, figures.order.kendall):
            assert estimate.text() in page
        for point in figures.curve:
            assert point.accuracy.text(3) in page
            assert short(point.depth) in page or f"{point.depth.value:.2f}" in page
        for size in figures.order.sizes:
            assert learned_text(size, figures.order.first_step) in page
        assert figures.labels.run_id in page
    assert "too few evaluations: 2, and 3 are needed" in page
    assert "not learned" in page
    assert "2 of 2 runs did not keep all records" in page
    assert "NaN" not in page and "nan" not in re.sub(r"<[^>]*>", "", page)
    assert "makes phases by itself" in sheet_text(sheet)


def test_there_is_a_section_for_each_schedule_and_claim(sheet, page):
    titles = [section.title.split(":")[0] for section in sheet.sections]
    assert titles == ["MANO, constant \u03b3", "MANO, \u03b3 warmed up", "Verdict", "Verdict"]
    assert [len(section.panels) for section in sheet.sections] == [2, 2, 0, 0]
    assert page.count("<svg viewBox") == 4
    for label in ("anira-e: accuracy", "anira-o: accuracy", "anira-o, seed 0: accuracy"):
        assert label in page
    assert page.count("L: step at which it is learned") == 3, "not where there are too few evaluations"
    assert page.count("weight \u03b3 of the compute loss") == 4


def test_the_page_is_whole_and_escaped(sheet, page):
    check_page(page)
    assert "&lt;steps&gt;" in page
    assert page == sheet_page(sheet)


def test_a_run_without_metrics_has_tables_and_no_figure(tmp_path):
    folder = write_training(tmp_path, Training())
    (folder / "metrics.jsonl").unlink()
    run = DynamicsRun(origin="found", knob=KNOB, figures=dynamics_figures(folder, draws=50))
    page = sheet_page(dynamics_sheet([run], []))
    assert "<svg viewBox" not in page
    assert "too few logged batches: 0, and 18 are needed" in page
    assert [len(table) for table in dynamics_tables([run]).values()] == [0, 0, 1, 0]


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        ((500, 500, 500), "by 500"),
        ((1000, 500, 2000), "1,000 [by 500, 2,000]"),
        ((6500, 4000, None), "6,500 [4,000, not learned]"),
        ((None, None, None), "not learned"),
    ],
)
def test_when_a_size_was_learned_in_words(steps, text):
    step, low, high = steps
    assert learned_text(LearnedSize(knob=1, level=0.6, step=step, low=low, high=high), 500) == text
