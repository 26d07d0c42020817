import json
import re
from html.parser import HTMLParser

import polars as pl
import pytest
from tests.report_support import FakeRun, write_run
from tests.sealing_support import edit_table
from tests.unit.site.report.conftest import KNOBS

from anira.site.report.page import build
from anira.site.report.runs import load_runs

VOID = {"meta", "link", "br", "path", "circle", "rect", "use"}


class Page(HTMLParser):
    """Checks that tags are closed in order; notes ids, visible text and what refers to something else."""

    def __init__(self, html):
        super().__init__()
        self.open, self.ids, self.links, self.words, self.classes = [], [], [], [], []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("src", "href", "xlink:href", "srcset", "data", "action"):
                self.links.append(value)
            if name == "class":
                self.classes += value.split()

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self):
        return re.sub(r" ([:,.;])", r"\1", " ".join(" ".join(self.words).split()))


@pytest.fixture(scope="module")
def page(report):
    return Page(report.html)


def test_ids_are_unique_and_links_stay_inside(page):
    assert len(page.ids) == len(set(page.ids))
    inside = {link[1:] for link in page.links if link.startswith("#")}
    assert inside <= set(page.ids)
    assert {link for link in page.links if not link.startswith("#")} == {"data:,"}


def test_nothing_is_fetched(report):
    assert not re.search(r"@import|url\((?!#)|https?:|//[a-z]+\.", report.html)
    assert "default-src 'none'" in report.html


def test_no_stand_in_colour_is_left(report):
    assert not re.search(r"#010[123][0-9a-f]{2}\b", report.html)


def test_tokens_are_escaped(report, page):
    assert "<ans>" not in report.html
    assert "<bos>" in page.text


def test_hostile_texts_stay_texts(tmp_path):
    folder = write_run(tmp_path, FakeRun(count=12))
    evil = pl.lit("</script><script>alert(1)</script>")
    for path in (folder / "records" / "final").glob("*.parquet"):
        columns = [
            name for name in ("input_text", "question", "answer", "predicted") if name in pl.read_parquet_schema(path)
        ]
        edit_table(path, lambda table, columns=columns: table.with_columns(evil.alias(name) for name in columns))
    html = build(load_runs([folder])).html
    assert "alert(1)" in html
    assert html.count("<script>") == html.count("</script>") == 1


def test_the_same_records_give_the_same_bytes(folders, report):
    assert build(load_runs(list(folders.values())), knobs=KNOBS).html == report.html


def test_the_page_is_light(report):
    assert len(report.html.encode()) < 2_000_000


def test_long_rows_keep_the_page_light(tmp_path):
    """Rows of 400 tokens, as LANO has, with probes everywhere."""
    folder = write_run(tmp_path, FakeRun(count=12))
    for path in (folder / "records" / "final").glob("tokens-*.parquet"):
        table = pl.read_parquet(path).with_columns(pl.col("^probe_.*$").fill_null(1.25))
        edit_table(
            path,
            lambda _, table=table: pl.concat(
                table.with_columns(position=pl.col("position") + i * (1 + pl.col("position").max().over("instance_id")))
                for i in range(40)
            ),
        )
    for path in (folder / "records" / "final").glob("instances-*.parquet"):
        edit_table(path, lambda table: table.with_columns(pl.col("num_tokens", "full_iterations") * 40))
    report = build(load_runs([folder]))
    assert "earlier tokens not shown" in report.html
    assert len(report.html.encode()) < 2_000_000


def test_findings_stand_at_the_top(page):
    top = page.text[: page.text.index("Difficulty is set")]
    assert "anira-o on MANO: mean answer depth rises by" in top
    assert "anira-e on MANO: no clear effect" in top
    assert "fixed on MANO: answer depth does not move with L" in top
    assert "anira-e on BREVO: mean answer depth falls by" in top


def test_every_part_is_there(page):
    for heading in ("In numbers", "During training", "Token by token", "The runs", "How this page was made"):
        assert heading in page.text
    assert page.classes.count("card") == 12
    assert page.classes.count("token") == page.classes.count("tip") + 2 * 4  # and the two scales of depth


def test_a_compute_warm_up_is_named_as_what_it_is(folders, tmp_path, page):
    assert "is not testable here" in page.text
    without = write_run(tmp_path, FakeRun(changes={"gamma_warmup_steps": 0}))
    assert "is not testable here" not in build(load_runs([without])).html


def test_the_settings_are_those_of_the_runs(page, folders):
    text = page.text[page.text.index("The runs") :]
    assert "knob L = 1 to 4 L = 1 to 4 L = 1 to 4 N = 3 to 6" in text
    assert "compute weight \u03b3 0.01 0.01 - 0.01" in text
    config = json.loads((folders["rising"] / "config.json").read_text())["config"]
    assert json.dumps(config["task_config"]["modulus"]) in text


def test_what_was_shrunk_is_said(folders):
    runs = load_runs([folders["rising"], folders["fixed"]])
    paper = {run.name: {**run.config, "steps": 250_000, "task_config": {"modulus": 23}} for run in runs}
    text = Page(build(runs, paper=paper).html).text
    assert "Here, and in brackets in the paper: modulus 5 (23), steps 4,000 (250,000)." in text
    assert "MANO against the paper's setting setting here paper task_config.modulus 5 23 steps 4,000 250,000" in text
    same = build(runs, paper={run.name: run.config for run in runs})
    assert "The same in every setting." in same.html


def test_a_task_that_nobody_knows_is_shown_with_plain_words(folders):
    assert "iterations per unit of knob" in build(load_runs([folders["rising"]])).html


def test_runs_without_evaluations_in_training_have_no_dynamics(tmp_path):
    folder = write_run(tmp_path, FakeRun())
    (folder / "metrics.jsonl").unlink()
    assert "During training" not in build(load_runs([folder])).html


def test_no_tokens_if_none_are_asked_for(folders):
    assert "Token by token" not in build(load_runs([folders["rising"]]), instances=0).html


def test_constant_depth_has_strips_only_where_nothing_else_is_there(folders, page):
    runs = load_runs([folders["fixed"]])
    assert Page(build(runs).html).classes.count("strip") == 6
    assert page.classes.count("strip") == 6 * 2 + 6  # anira-o and anira-e on MANO, anira-e on BREVO


def test_the_tables_behind_the_figures_hold_all_tasks(report):
    assert set(report.tables) == {
        "accuracy_by_knob",
        "depth_by_knob",
        "forced_by_knob",
        "dynamics",
        "gamma",
        "summary",
        "probes",
        "tokens",
    }
    for name, table in report.tables.items():
        forced = name == "forced_by_knob"  # which these runs were never
        assert set(table["task"]) == (set() if forced else {"mano", "brevo"}), name
