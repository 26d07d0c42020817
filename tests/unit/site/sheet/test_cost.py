"""The page of costs: every measured and counted figure stands on it, and it needs nothing else."""

import re
from dataclasses import replace

import polars as pl
import pytest

from anira.measure.cost import Cost
from anira.measure.savings import Savings
from anira.measure.statistics.estimates import Estimate
from anira.paper.cost.page import CostRun, Flops, Measured, Parameters, Way, cost_sheet, flops_table, way_table
from anira.site.plain import short
from anira.site.sheet.sheet import sheet_page

MACHINE = {"cpu": "A <fast> one", "cores": 2, "threads": 1}
PAPER = [Parameters("mano-anira-e-paper", 5_087_246, 449_806)]


def near(value):
    return Estimate(value, value - 0.01, value + 0.01)


def way(depth, offset):
    share = depth / 4 + offset
    time = Savings(whole=near(share), core=near(share - 0.05))
    return Way(depth=depth, time=time, core_bytes=share + 0.1, cache_bytes=share + 0.2, milliseconds=3 * share)


def measured(batch, offset):
    return Measured(
        batch=batch,
        rows=2 * batch,
        own=way(2.37, 0.113 + offset),
        forced=tuple(way(depth, 0.0) for depth in (1, 2, 3, 4)),
        deciding=near(0.113) if batch == 1 else Estimate(None, reason="several rows"),
        flops=Flops(execution=60_000 + batch, decision=9_000, other=40_000),
        full_flops=Flops(execution=100_000, decision=0, other=40_000),
    )


def made(task, variant, seed=0):
    shares = {name: near(0.41 + i / 50) for i, name in enumerate(("iterations_share", "flops_share", "kv_share"))}
    return CostRun(
        origin="found; not as the preset: <steps>",
        run_id=f"{task}-{variant}/s{seed}",
        task=task,
        variant=variant,
        seed=seed,
        step=9000,
        max_depth=4,
        row_length=11,
        repeats=15,
        parameters=Parameters(f"{task}-{variant}-cpu", 200_000, 17_000),
        measured=(measured(1, 0.0), measured(16, 0.05)),
        evaluated=Cost(
            knob=None,
            tokens=123_456,
            mean_depth=near(2.22),
            **shares,
            decisions_per_token=near(1.0),
            unread_share=near(0.0),
        ),
    )


@pytest.fixture(scope="module")
def runs():
    return [made("mano", "anira-e"), made("mano", "anira-o"), made("brevo", "anira-e")]


@pytest.fixture(scope="module")
def page(runs):
    return sheet_page(cost_sheet(runs, PAPER, MACHINE))


def test_tables_have_a_row_for_every_way(runs):
    table = way_table(runs)
    assert len(table) == 3 * 2 * 5
    own = table.filter(label="mano anira-o", batch=16, way="own").row(0, named=True)
    assert (own["depth"], own["expected"]) == (2.37, 2.37 / 4)
    assert own["expected_with_exit"] == pytest.approx(3.37 / 4)
    assert own["time"] == pytest.approx(2.37 / 4 + 0.163)
    assert table.filter(way="forced", depth=4.0)["expected_with_exit"].unique().to_list() == [1.0], "at most all"
    flops = flops_table(runs)
    assert flops.select("label", "batch").n_unique() == len(flops) == 6
    assert flops["decision"].unique().to_list() == [9000]
    assert "time_low" in pl.read_csv(table.write_csv().encode()).columns


def test_every_number_stands_on_the_page(runs, page):
    for run in runs:
        for part in run.measured:
            assert short(part.own.time.whole, 3) in page
            assert short(part.own.time.core, 3) in page
            assert f"{part.own.core_bytes:.3f}" in page
            assert f"{part.flops.execution:,.0f}" in page
        assert short(run.measured[0].deciding, 3) in page
        for share in (run.evaluated.iterations_share, run.evaluated.kv_share, run.evaluated.flops_share):
            assert short(share, 3) in page
    for text in ("0.593", "0.843", "123,456", "60,016", "0.150", "8.5%", "8.8%", "5,087,246"):
        assert text in page


def test_execution_and_decision_are_apart(runs):
    tables = cost_sheet(runs, PAPER, MACHINE).sections[0].tables
    row = tables[1].rows[0]
    assert (row["execution"], row["of full depth"]) == ("60,001", "0.600")
    assert (row["decision"], row["of execution"]) == ("9,000", "0.150")
    assert [row["time of deciding"] != "-" for row in tables[0].rows] == [True, False, True, False]


def test_deciding_has_a_time_where_one_was_measured_and_nowhere_else(runs):
    table = way_table(runs).drop_nulls("deciding_time")
    assert table.select("batch", "way").unique().rows() == [(1, "own")]
    assert table["deciding_time"].to_list() == [0.113] * 3


def test_page_and_table_have_one_ratio(runs):
    """A run that is nearly always at full depth: no more than all slots are kept."""
    deep = [replace(part, own=way(3.6, 0.0)) for part in runs[0].measured]
    found = [replace(runs[0], measured=tuple(deep))]
    shown = cost_sheet(found, PAPER, MACHINE).sections[0].tables[0].rows
    assert {row["(d + 1)/D"] for row in shown} == {"1.000"}
    assert way_table(found).filter(way="own")["expected_with_exit"].to_list() == [1.0, 1.0]


def test_seeds_of_a_variant_share_an_entry_of_the_legend():
    section = cost_sheet([made("mano", "anira-o", seed) for seed in range(3)], PAPER, MACHINE).sections[0]
    assert list(section.legend) == ["anira-o"]


def test_the_machine_and_its_threads_are_named(page):
    assert "A &lt;fast&gt; one" in page
    assert "threads 1" in page


def test_there_are_figures_of_time_and_of_bytes(page):
    assert page.count("<svg viewBox") == 2 * 3


def test_the_page_needs_nothing_else_and_is_escaped(page):
    assert not re.search(r"(?:src|href)=\"(?!data:|#)", page)
    assert "<fast>" not in page
    assert "<steps>" not in page
