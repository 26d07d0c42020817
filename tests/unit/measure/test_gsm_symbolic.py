"""The statistics of GSM-Symbolic on records whose truth was planted."""

import numpy as np
import polars as pl
import pytest
from tests.gsm_support import Planted, write_planted
from tests.measure_support import Planted as Toy
from tests.measure_support import write_run

from anira.config import UserError
from anira.measure import measure
from anira.measure.gsm_symbolic import measure_gsm_symbolic


def right(knob, template, instance):
    """Main: templates 0 to 9 right. P1: even ones. P2: the first instance only. Every answer of a template alike."""
    return [template < 10, template % 2 == 0, instance == 0][knob]


def rising(knob, template, instance):
    return 1 + knob


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("planted")
    one = Planted(right=right, depth=rising)
    write_planted(root / "records" / "final", one)
    for depth in (1, 2, 3):
        at = Planted(right=lambda k, t, i, depth=depth: t < 4 * depth, depth=rising, forced=depth)
        write_planted(root / "records" / f"depth-{depth}", at)
    return root


@pytest.fixture(scope="module")
def table(folder):
    return measure_gsm_symbolic(folder, draws=200)


def one(table, quantity, knob, subset="all"):
    rows = table.filter(quantity=quantity, subset=subset).filter(pl.col("knob").eq_missing(pl.lit(knob, pl.Int64)))
    return rows.row(0, named=True)


def test_accuracy_by_split_on_all_and_on_shared_templates(table):
    values = {(knob, subset): one(table, "accuracy", knob, subset) for knob in range(3) for subset in ("all", "shared")}
    assert {place: row["value"] for place, row in values.items()} == pytest.approx(
        {(0, "all"): 0.5, (0, "shared"): 0.5, (1, "all"): 0.5, (1, "shared"): 1.0, (2, "all"): 0.1, (2, "shared"): 0.1}
    )
    assert [values[knob, "shared"]["n"] for knob in range(3)] == [100] * 3
    assert values[0, "all"]["n"] == 200


def test_templates_are_the_unit_of_the_interval(table):
    """Main is right by template, so 200 questions are worth 20."""
    row = one(table, "accuracy", 0)
    assert row["high"] - row["low"] > 0.35
    independent = measure_like_wilson(0.5, 200)
    assert row["high"] - row["low"] > 2.5 * independent


def measure_like_wilson(share, count):
    return 2 * 1.96 * np.sqrt(share * (1 - share) / count)


def test_spread_and_range_over_data_sets(table):
    assert one(table, "spread", 0)["value"] == 0
    row = one(table, "spread", 2)
    assert row["value"] == pytest.approx(np.std([1.0, *[0.0] * 9], ddof=1))
    assert row["value"] > row["null_high"], "all right in one data set and all wrong in the others is no chance"
    assert [one(table, name, 2)["value"] for name in ("lowest", "highest")] == [0.0, 1.0]
    assert row["n"] == 10


def test_chance_alone_lies_in_the_null_of_the_spread(tmp_path):
    rng = np.random.default_rng(0)
    coin = {(k, t, i): bool(rng.random() < 0.3) for k in range(3) for t in range(20) for i in range(10)}
    write_planted(tmp_path / "records" / "final", Planted(right=lambda *place: coin[place], depth=rising))
    table = measure_gsm_symbolic(tmp_path, draws=20)
    rows = [one(table, "spread", knob) for knob in range(3)]
    assert all(row["null_low"] < row["value"] < row["null_high"] for row in rows)


def test_depth_and_its_correlation_with_the_split(table):
    depths = [one(table, "depth", knob, "answer") for knob in range(3)]
    assert [(row["value"], row["low"], row["high"]) for row in depths] == [(d, d, d) for d in (1.0, 2.0, 3.0)]
    for subset in ("all", "shared"):
        assert one(table, "spearman_knob", None, subset)["value"] == pytest.approx(1.0)
        assert one(table, "slope", None, subset)["value"] == pytest.approx(1.0)
        assert one(table, "spearman_knob", None, subset)["null_high"] < 0.3


def test_depth_that_ignores_the_split_has_an_interval_around_zero(tmp_path):
    rng = np.random.default_rng(1)
    depth = {(k, t, i): int(rng.integers(1, 4)) for k in range(3) for t in range(20) for i in range(10)}
    write_planted(tmp_path / "records" / "final", Planted(right=right, depth=lambda *place: depth[place]))
    row = one(measure_gsm_symbolic(tmp_path, draws=200), "spearman_knob", None, "shared")
    assert row["low"] < 0 < row["high"]


def test_the_fixed_depth_curve_and_what_lies_above_it(table):
    curve = [one(table, "forced_accuracy", 0, f"depth-{depth}")["value"] for depth in (1, 2, 3)]
    assert curve == pytest.approx([0.2, 0.4, 0.6])
    assert one(table, "forced_accuracy", 0, "depth-3 shared")["value"] == pytest.approx(0.6)
    above = [one(table, "above_curve", knob)["value"] for knob in range(3)]
    assert above == pytest.approx([0.5 - 0.2, 0.5 - 0.4, 0.1 - 0.6])


def test_between_depths_the_curve_is_linear(tmp_path, folder):
    half = Planted(right=lambda k, t, i: t < 10, depth=lambda k, t, i: 1 + i % 2)
    write_planted(tmp_path / "records" / "final", half)
    both = [tmp_path / "records" / "final", folder / "records" / "depth-1", folder / "records" / "depth-2"]
    table = measure_gsm_symbolic(both, draws=20)
    assert one(table, "above_curve", 0)["value"] == pytest.approx(0.5 - 0.3)


def test_without_a_curve_it_says_so(tmp_path):
    write_planted(tmp_path / "records" / "final", Planted(right=right, depth=rising))
    row = one(measure_gsm_symbolic(tmp_path, draws=20), "above_curve", 0)
    assert (row["value"], row["reason"]) == (None, "no fixed-depth curve: use --depth")


def test_a_constant_depth_has_no_correlation(tmp_path):
    fixed = Planted(right=right, depth=lambda *place: 3, policy="fixed")
    write_planted(tmp_path / "records" / "final", fixed)
    row = one(measure_gsm_symbolic(tmp_path, draws=20), "spearman_knob", None)
    assert row["value"] is None
    assert "constant by construction" in row["reason"]


def test_the_general_measure_reads_the_same_records(folder):
    table = measure(folder, draws=50)
    assert one(table, "accuracy", 1)["value"] == 0.5
    assert one(table, "depth", 2, "answer")["value"] == 3.0
    assert one(table, "forced_accuracy", 0, "depth-2")["value"] == pytest.approx(0.4)
    assert one(table, "oracle_depth", 0)["value"] == pytest.approx((4 * 1 + 4 * 2 + 4 * 3) / 12)


def test_records_of_another_task_are_refused(tmp_path):
    toy = write_run(tmp_path, Toy(own=lambda k, i: 1, required=lambda k, i: 1), overrides=("",))
    with pytest.raises(UserError, match="records of 'toy', not of 'gsm-symbolic'"):
        measure_gsm_symbolic(toy)
