import numpy as np
import polars as pl
import pytest
from tests.unit.measure.records_support import Plan, write_evaluation

from anira.measure.cost import cost_by_knob
from anira.measure.records.instances import instance_table
from anira.measure.records.loading import load_evaluation


def costs(folder, plan):
    table = instance_table(load_evaluation(write_evaluation(folder, plan)))
    return table, cost_by_knob(table, rng=np.random.default_rng(0), draws=200)


def test_ratios_of_sums_by_knob_and_over_all(tmp_path):
    table, rows = costs(tmp_path / "e", Plan(knobs=(1, 4), answers=3))
    assert [row.knob for row in rows] == [1, 4, None]
    for row in rows:
        own = table if row.knob is None else table.filter(pl.col("knob") == row.knob)
        sums = own.select(pl.col(pl.Int64, pl.Int32).sum()).row(0, named=True)
        assert row.tokens == sums["num_tokens"]
        assert row.mean_depth.value == pytest.approx(sums["iterations"] / sums["num_tokens"])
        assert row.iterations_share.value == pytest.approx(sums["iterations"] / sums["full_iterations"])
        assert row.flops_share.value == pytest.approx(sums["flops"] / sums["full_flops"])
        assert row.kv_share.value == pytest.approx(sums["kv_slots"] / sums["full_kv_slots"])
        assert row.decisions_per_token.value == pytest.approx(sums["decisions"] / sums["num_tokens"])
        assert row.flops_share.low < row.flops_share.value < row.flops_share.high
        assert row.unread_share.value == 0


def test_iterations_that_are_not_read_out_are_counted_apart(tmp_path):
    _, rows = costs(tmp_path / "e", Plan(virtual=1, max_depth=20))
    assert rows[-1].unread_share.value == pytest.approx(1 / rows[-1].mean_depth.value)


def test_full_depth_costs_all_of_it(tmp_path):
    _, rows = costs(tmp_path / "e", Plan(max_depth=1))
    for row in rows:
        assert (row.iterations_share.value, row.flops_share.value, row.kv_share.value) == (1, 1, 1)
