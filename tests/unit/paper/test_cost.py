"""Measured and counted costs, from tiny runs to files. How large the times are is for a quiet machine to say."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from tests.training_support import train_tiny

from anira.config import UserError
from anira.inference import Cost
from anira.inference.savings import OWN, Decoded
from anira.measure.statistics.estimates import Estimate
from anira.measure.tidy import find, make_row, make_table
from anira.paper.cost.make import ROWS, forced_depths, paper_rows, reproduce, rows_of_one_length
from anira.paper.cost.measure import BATCHED, decoding_rows, parameter_rows, preset_labels
from anira.paper.cost.page import answer, badge, make_page
from anira.paper.figures import FIGURES
from anira.paper.found import found_in
from anira.paper.setting import Setting
from anira.site import render
from anira.site.tables import page_text
from anira.tasks import make_task
from anira.tasks.brevo import BrevoConfig


@pytest.fixture
def one_task(monkeypatch):
    monkeypatch.setitem(FIGURES, "cost", FIGURES["cost"]._replace(runs=FIGURES["mano-parse-state"].runs))
    monkeypatch.setitem(ROWS, "smoke", {1: 1, 3: 3})


def train(name, out, changes):
    return train_tiny(out, name, steps=2)


def test_files_from_tiny_runs(tmp_path, one_task):
    outcome = reproduce(Setting(scale="smoke", out=tmp_path, runs=tmp_path / "runs", train=train))
    assert {file.name for file in outcome.files} == {"cost.json", "cost.csv", "cost-seeds.csv", "cost.html"}
    assert [run.preset for run in outcome.runs] == ["mano-anira-e-smoke", "mano-anira-o-smoke"]
    table = pl.read_csv(tmp_path / "cost.csv", infer_schema_length=None)
    ways = {"own", "depth-1", "depth-2", "depth-3"}
    assert set(table.filter(quantity="time_ratio").select("decode", "subset").iter_rows()) == {
        (decode, way) for decode in ("batch-1", "batch-3") for way in ways
    }
    full = table.filter(pl.col("quantity").is_in(["time_ratio", "core_bytes_ratio"]), subset="depth-3")
    assert full["value"].to_list() == [1.0] * 8
    own = {name: values(table, name) for name in ("iterations_share", "core_bytes_ratio", "slots_expected")}
    assert (own["iterations_share"] <= own["core_bytes_ratio"]).all()
    assert (own["core_bytes_ratio"] <= own["slots_expected"] + 1e-9).all(), "at most one slot more"
    assert (values(table, "execution_ratio") <= 1).all() and (values(table, "decision_flops") > 0).all()
    deciding = table.filter(quantity="deciding_ratio").select("decode", "reason").unique()
    assert dict(deciding.iter_rows())["batch-3"] == BATCHED, "nothing else but own depths, and why not in batches"
    assert "These are smoke runs" in outcome.text
    assert "threads 1; CPU time of one thread" in (tmp_path / "cost.html").read_text()


def values(table, name):
    """What own depths cost, in the order of runs and batch sizes."""
    return table.filter(quantity=name, subset="own")["value"]


def test_rows_have_one_length_and_no_padding():
    task = make_task("brevo", BrevoConfig(min_nodes=3, max_nodes=6))
    ids = rows_of_one_length(task, 8).numpy()
    assert len(ids) == 8
    assert not np.any(ids == task.vocab.id("<pad>"))


def test_a_task_without_equal_lengths_is_refused():
    rows = SimpleNamespace(lengths=np.arange(3, 515), input_ids=np.zeros((512, 515)))
    task = SimpleNamespace(name="ragged", knob=SimpleNamespace(seen=(1,)), rows=lambda **_: rows)
    with pytest.raises(UserError, match="'ragged' has too few rows of one length: 1 of 2"):
        rows_of_one_length(task, 2)


def test_depths_to_compare_with():
    assert forced_depths(1) == [1]
    assert forced_depths(6) == [1, 2, 3, 4, 5, 6]
    assert (forced_depths(14)[0], forced_depths(14)[-1], len(forced_depths(14))) == (1, 14, 6)


def test_the_share_of_the_paper():
    table = make_table(paper_rows())
    assert round(find(table, "decider_share", subset="paper", task="brevo", variant="anira-o")["value"], 2) == 0.08


def test_a_run_of_another_task_is_refused(tmp_path, one_task):
    def wrong(name, out, changes):
        return train_tiny(out, name.replace("mano", "brevo"), steps=2)

    with pytest.raises(UserError, match="is a run of task 'brevo', not of mano"):
        reproduce(Setting(scale="smoke", out=tmp_path, runs=tmp_path / "runs", train=wrong))


LABELS = preset_labels("mano-anira-e-cpu/1-s0", "mano", "anira-e")


def decoded(depth, seconds):
    """One way to decode ten tokens: costs and bytes go with depth."""
    flops = {"core_flops": int(1000 * depth), "decision_flops": 0, "other_flops": 500}
    counted = Cost(tokens=10, iterations=int(10 * depth), decisions=0, kv_slots=0, **flops)
    shares = tuple(float(one == round(depth)) for one in (1, 2, 3, 4))
    size = int(100 * depth)
    return Decoded(depth_shares=shares, cost=counted, core_bytes=size, cache_bytes=size, seconds=(seconds,) * 6)


def planted(seconds, seeds=3):
    """Runs that take so many seconds at their own mean depth of 2; forced depths take 1 + d."""
    rows = []
    for seed in range(seeds):
        labels = replace(LABELS, seed=seed, run_id=f"<s{seed}>")
        found = {OWN: decoded(2, seconds + seed / 100), **{d: decoded(d, 1.0 + d) for d in (1, 2, 3, 4)}}
        rows += [*decoding_rows(labels, found, batch=1, knob=3), *parameter_rows(labels, 100, 8)]
        rows.append(make_row(labels, "max_depth", Estimate(4.0), n=1))
    return found_in(make_table(rows), machine="A <fast> machine.")


def test_planted_costs_are_recovered():
    table = planted(3.5).runs.filter(seed=0)
    found = {name: find(table, name, subset="own")["value"] for name in table["quantity"].unique()}
    assert (found["iterations_share"], found["slots_expected"], found["core_bytes_ratio"]) == (0.5, 0.75, 0.5)
    assert found["time_ratio"] == pytest.approx(3.5 / 5)
    assert found["core_time_ratio"] == pytest.approx(2.5 / 4)
    assert found["deciding_ratio"] == pytest.approx(0.5 / 5)
    assert found["flops_ratio"] == pytest.approx(2500 / 4500)


@pytest.mark.parametrize(
    ("seconds", "seeds", "words", "tone"),
    [
        (3.5, 3, "less time in 1 of 1", "yes"),
        (5.5, 3, "less time in none of 1", "no"),
        (5.0, 3, "less time in none of 1", "open"),
        (3.5, 2, "no verdict on time: fewer than 3 seeds", "open"),
    ],
)
def test_time_is_judged_over_seeds(seconds, seeds, words, tone):
    found = badge(planted(seconds, seeds))
    assert (found.words, found.tone) == (words, tone)


def test_the_page_is_whole_and_escaped():
    found = planted(3.5)
    page = make_page(found)
    html = render(page)
    assert "A &lt;fast&gt; machine." in html and "<fast>" not in html and "<s0>" not in html
    assert answer(found)[0].endswith(" and 70.2% of the time.")
    assert page.sections[0].title == "MANO"
    assert "MANO: own and forced depths" in page_text(page)
