"""The page of CLRS: every figure of the records stands on it, and it needs nothing else."""

import polars as pl
import pytest
from tests.page_support import check_page
from tests.unit.measure.records_support import Plan, write_subtasks

from anira.measure.claims.subtasks import judge_subtasks
from anira.measure.subtasks import overview
from anira.paper.clrs.page import CellBaselines, ClrsRun, clrs_sheet, labels, size_table, summary_rows
from anira.site.plain import short
from anira.site.sheet.sheet import sheet_page

KNOBS = {"sort": (1, 2, 5), "segments_intersect": (1,)}
COPY = {"sort": 0.125, "segments_intersect": None}


def made(folder, variant, origin="found", seed=0, draw=0):
    same = {"variant": variant, "seed": seed, "n": 30, "draw": draw}
    write_subtasks(folder, {name: Plan(knobs=knobs, **same) for name, knobs in KNOBS.items()})
    baselines = [
        CellBaselines(subtask=name, size=knob, majority=0.25 + knob / 16, copy=COPY[name])
        for name, knobs in KNOBS.items()
        for knob in knobs
    ]
    figures = overview(folder, draws=50)
    return ClrsRun(origin=origin, left_out=("sort 9",), figures=figures, baselines=tuple(baselines))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    root = tmp_path_factory.mktemp("clrs")
    return [
        made(root / "e", "anira-e"),
        made(root / "o", "anira-o", "trained in 2 s; not as the preset: <steps>", draw=1),
    ]


def test_the_table_has_a_row_for_every_run_subtask_and_size(runs):
    table = size_table(runs)
    assert table.select("label", "subtask", "knob").rows() == [
        (label, name, knob) for label in ("anira-e", "anira-o") for name, knobs in KNOBS.items() for knob in knobs
    ]
    row = table.row(2, named=True)
    part = runs[0].figures.subtasks[0]
    exact, depth = part.accuracy[2].exact, part.depth[2].answer
    assert (row["accuracy"], row["accuracy_low"], row["accuracy_high"]) == (exact.value, exact.low, exact.high)
    assert (row["depth"], row["depth_low"], row["depth_high"]) == (depth.value, depth.low, depth.high)
    assert (row["split"], row["majority"], row["copy"]) == ("extrapolation", 0.5625, 0.125)
    assert table.filter(subtask="segments_intersect")["copy"].null_count() == 2
    assert "expected_depth_low" in pl.read_csv(table.write_csv().encode()).columns


def test_the_summary_has_seen_and_unseen_sizes(runs):
    rows = summary_rows(runs)
    assert [(row["subtask"], row["run"]) for row in rows] == [
        (name, label) for name in KNOBS for label in ("anira-e", "anira-o")
    ]
    part = runs[1].figures.subtasks[0]
    assert rows[1]["seen"] == short(part.over("seen").exact, 3)
    assert rows[1]["extrapolation"] == short(part.over("extrapolation").exact, 3)
    assert (rows[1]["interpolation"], rows[1]["majority, seen"], rows[1]["copy, seen"]) == ("-", "0.344", "0.125")
    assert rows[1]["slope, seen sizes"] == short(part.aligned(subset="seen").slope, 3)
    assert rows[1]["slope, all sizes"] == short(part.aligned().slope, 3)
    assert rows[2]["copy, seen"] == "-"


def test_the_page_shows_the_figures(runs):
    page = sheet_page(clrs_sheet(runs, ["segments_intersect"]))
    for run in runs:
        for part in run.figures.subtasks:
            for row, depth in zip(part.accuracy, part.depth, strict=False):
                assert short(row.exact, 3) in page
                assert short(depth.answer) in page
                assert short(depth.prompt) in page
        assert run.figures.labels.run_id in page
    assert page.count("<svg viewBox") == 2, "subtasks whose size is a label have no figures"
    assert page.count("there is nothing to draw against it") == 1
    for text in ("sort 9", "extrapolation", "0.562", "0.125"):
        assert text in page


def test_the_page_is_whole_and_escaped(runs):
    page = sheet_page(clrs_sheet(runs, []))
    check_page(page)
    assert page.count("<svg viewBox") == 4
    assert "&lt;steps&gt;" in page
    assert page == sheet_page(clrs_sheet(runs, []))


def test_the_page_counts_its_verdicts(runs):
    claims = [claim for judged in judge_subtasks([run.figures for run in runs], []).values() for claim in judged]
    able = sum(claim.verdict.word != "not testable" for claim in claims)
    assert (len(claims), able) == (12, 4)
    page = sheet_page(clrs_sheet(runs, [], claims))
    assert "12 settings are judged below" in page
    assert "in 4 of them a run can speak" in page
    assert "3 seeds would agree on the claimed side once in 8, which is 0.5 of 4 settings" in page
    assert "How many verdicts" not in sheet_page(clrs_sheet(runs, []))


def test_seeds_are_told_apart(tmp_path, runs):
    more = made(tmp_path / "o", "anira-o", seed=1)
    assert labels([*runs, more]) == ["anira-e", "anira-o, seed 0", "anira-o, seed 1"]
