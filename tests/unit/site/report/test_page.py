"""The report of planted runs: it says what was planted, holds what it needs, and takes no text for markup."""

import json
import re

import polars as pl
import pytest
from tests.report_support import FakeRun, write_run
from tests.sealing_support import edit_table
from tests.unit.site.report.conftest import KNOBS

from anira.site import render
from anira.site.report.page import build
from anira.site.report.runs import load_runs


@pytest.fixture(scope="module")
def html(report):
    return render(report.page)


def views(html):
    return json.loads(re.search(r'id="views">(.*?)</script>', html, re.DOTALL)[1])


def titles(report):
    return [section.title for section in report.page.sections]


def test_the_answer_says_what_was_planted(report):
    said = "\n".join(report.page.answer)
    assert re.search(r"MANO, anira-o: answer depth rises by 0\.\d\d iterations per unit of the knob \[", said)
    assert "MANO, fixed: answer depth has no slope over the knob, because depth is constant by construction" in said
    assert "BREVO, anira-e: answer depth falls by" in said
    assert "accuracy" in said


def test_every_part_is_there(report):
    assert titles(report) == [
        "MANO",
        "MANO: cost, and the reference solver's state",
        "BREVO",
        "BREVO: cost, and the reference solver's state",
        "MANO token by token",
        "BREVO token by token",
        "During training",
        "During training",
        "The runs",
        "How to read this page",
    ]


def test_nothing_is_fetched(html):
    outside = re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
    assert not re.search(r"@import|url\(|https?:|src=", outside)
    assert "default-src 'none'" in html


def test_the_same_records_give_the_same_bytes_and_a_light_page(folders, html):
    assert render(build(load_runs(list(folders.values())), knobs=KNOBS).page) == html
    assert len(html.encode()) < 2_000_000


def test_hostile_texts_stay_texts(tmp_path):
    folder = write_run(tmp_path, FakeRun(count=12))
    evil = pl.lit("</script><script>alert(1)</script>")
    for path in (folder / "records" / "final").glob("*.parquet"):
        columns = [
            name for name in ("input_text", "question", "answer", "predicted") if name in pl.read_parquet_schema(path)
        ]
        edit_table(path, lambda table, columns=columns: table.with_columns(evil.alias(name) for name in columns))
    html = render(build(load_runs([folder])).page)
    assert "alert(1)" in html
    assert "<script>alert" not in html


def test_long_rows_keep_the_page_light(tmp_path):
    """Rows of 400 tokens and more, as LANO has, with probes everywhere."""
    folder = write_run(tmp_path, FakeRun(count=12))
    for path in (folder / "records" / "final").glob("tokens-*.parquet"):
        table = pl.read_parquet(path).with_columns(pl.col("^probe_.*$").fill_null(1.25))
        edit_table(
            path,
            lambda _, table=table: pl.concat(
                table.with_columns(position=pl.col("position") + i * (1 + pl.col("position").max().over("instance_id")))
                for i in range(60)
            ),
        )
    for path in (folder / "records" / "final").glob("instances-*.parquet"):
        edit_table(path, lambda table: table.with_columns(pl.col("num_tokens", "full_iterations") * 60))
    html = render(build(load_runs([folder])).page)
    strips = [strip for one in views(html)["mano"]["instances"] for strip in one["strips"]]
    assert any(strip["left_out"] for strip in strips)
    assert len(html.encode()) < 2_000_000


def test_what_was_shrunk_is_said(folders):
    runs = load_runs([folders["rising"], folders["fixed"]])
    paper = {run.name: {**run.config, "steps": 250_000, "task_config": {"modulus": 23}} for run in runs}
    (section,) = [one for one in build(runs, paper=paper).page.sections if one.title == "The runs"]
    (table,) = [part for part in section.parts if "against the paper" in part.title]
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["task_config.modulus", "5", "23"],
        ["steps", "4,000", "250,000"],
    ]


def test_a_compute_warm_up_is_named_as_what_it_is(report, tmp_path):
    warmed = [line for section in report.page.sections for line in section.text]
    assert any("was warmed up" in line for line in warmed)
    without = build(load_runs([write_run(tmp_path, FakeRun(changes={"gamma_warmup_steps": 0}))]))
    assert not any("was warmed up" in line for section in without.page.sections for line in section.text)


def test_runs_without_evaluations_in_training_have_no_such_charts(tmp_path):
    folder = write_run(tmp_path, FakeRun())
    (folder / "metrics.jsonl").unlink()
    assert "During training" not in titles(build(load_runs([folder])))


def test_tokens_are_shown_if_they_are_asked_for(folders):
    assert "MANO token by token" not in titles(build(load_runs([folders["rising"]]), tokens=False))


def test_a_reader_may_pick_any_two_runs_of_a_task(html):
    view = views(html)["mano"]
    assert sorted(view["runs"]) == ["anira-e", "anira-o", "fixed"]
    assert all(sorted(strip["run"] for strip in one["strips"]) == sorted(view["runs"]) for one in view["instances"])


def test_of_many_runs_one_of_each_experiment_shows_its_tokens(tmp_path):
    fakes = [FakeRun(seed=seed, count=8, variant=name) for name in ("anira-o", "fixed") for seed in range(3)]
    view = views(render(build(load_runs([write_run(tmp_path, fake) for fake in fakes])).page))["mano"]
    assert view["runs"] == ["anira-o, seed 0", "fixed, seed 0"]


def test_the_table_behind_the_page_holds_all_tasks(report):
    assert set(report.table["task"]) == {"mano", "brevo"}
    assert set(report.table["variant"]) == {"anira-o", "anira-e", "fixed"}
