from dataclasses import replace

import pytest
from tests.report_support import FakeRun, write_run

from anira.site.report.about import KnobWords, origin, origin_table, settings_table
from anira.site.report.runs import load_runs

L = KnobWords("L", "operators in the expression")


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    root = tmp_path_factory.mktemp("seeds")
    return load_runs([write_run(root, FakeRun(seed=seed, knobs=(1, 2, 6), count=12)) for seed in (0, 1)])


def columns(table):
    rows = [[cell.text for cell in row] for row in table.rows]
    return dict(zip([cell.text for cell in table.head], map(list, zip(*rows, strict=True)), strict=True))


def test_settings_are_one_line_for_each_run_and_empty_columns_are_left_out(runs):
    found = columns(settings_table(runs, {"mano": L}))
    assert found["variant"] == ["anira-o", "anira-e", "fixed"]
    assert found["knob"] == ["L = 1 to 4"] * 3
    assert found["\u03b3 warmed up over"] == ["2,000 steps", "2,000 steps", "-"]
    assert found["evaluated"] == ["step 4,000, 60 instances per knob"] * 3
    assert "prior base b" not in columns(settings_table(runs[2:], {"mano": L}))


def test_each_run_says_what_made_it(seeds):
    found = columns(origin_table(seeds))
    assert found["trained by"] == [f"anira train mano-anira-o-cpu --seed {seed}" for seed in (0, 1)]


def test_the_origin_has_the_date_if_the_run_stored_one(seeds):
    dated = replace(seeds[0], origin={"date": "2026-11-15", "git": "e23a470"})
    assert origin(dated) == "mano-anira-o-cpu/0123abcd-s0, 2026-11-15, commit e23a470"


def test_the_origin_is_what_the_run_stored(seeds):
    assert origin(seeds[0]) == (
        "mano-anira-o-cpu/0123abcd-s0, anira 0.1.0, python 3.11.2, torch 2.13.0, commit e23a470, Linux x86_64"
    )
