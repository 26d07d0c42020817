from dataclasses import replace

import pytest
from tests.report_support import FakeRun, write_run

from anira.site.report.about import KnobWords, commands, in_a_line, origin, settings_rows
from anira.site.report.runs import load_runs

L = KnobWords("L", "operators in the expression")


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    root = tmp_path_factory.mktemp("seeds")
    return load_runs([write_run(root, FakeRun(seed=seed, knobs=(1, 2, 6), count=12)) for seed in (0, 1)])


def test_settings_are_one_row_each_and_empty_ones_are_left_out(runs):
    rows = dict(settings_rows(runs, {"mano": L}))
    assert rows["variant"] == ["anira-o", "anira-e", "fixed"]
    assert rows["knob"] == ["L = 1 to 4"] * 3
    assert rows["\u03b3 warmed up over"] == ["2,000 steps", "2,000 steps", "-"]
    assert rows["evaluated"] == ["step 4,000, 240 instances"] * 3
    assert "prior base b" not in dict(settings_rows(runs[2:], {"mano": L}))


def test_knobs_that_training_has_not_seen_are_set_apart(seeds):
    rows = dict(settings_rows(seeds, {}))
    assert rows["knob"] == ["knob = 1, 2, 6"] * 2
    assert rows["seen in training"] == ["1, 2"] * 2


def test_a_line_names_seeds_and_the_main_differences_from_the_paper(seeds):
    assert in_a_line(seeds, L, {}) == "MANO with L = 1, 2, 6, largest depth D = 4, 4,000 steps, seeds 0, 1."
    paper = {run.name: {**run.config, "batch_size": 512, "learning_rate": 1e-4} for run in seeds}
    assert in_a_line(seeds, L, paper).endswith("Here, and in brackets in the paper: batch size 128 (512).")


def test_commands_make_each_run_once_and_then_the_page(seeds):
    assert commands(seeds) == [
        "anira train mano-anira-o-cpu --seed 0",
        "anira train mano-anira-o-cpu --seed 1",
        "anira report runs/mano-anira-o-cpu/0123abcd-s0 runs/mano-anira-o-cpu/0123abcd-s1",
    ]


def test_the_origin_has_the_date_if_the_run_stored_one(seeds):
    dated = replace(seeds[0], origin={"date": "2026-11-15", "git": "e23a470"})
    assert origin(dated) == "mano-anira-o-cpu/0123abcd-s0, 2026-11-15, commit e23a470"


def test_the_origin_is_what_the_run_stored(seeds):
    assert origin(seeds[0]) == (
        "mano-anira-o-cpu/0123abcd-s0, anira 0.1.0, python 3.11.2, torch 2.13.0, commit e23a470, Linux x86_64"
    )
