"""All rows of one evaluation: equal records give equal rows, and many tokens take seconds."""

import pytest
from tests.sealing_support import edit_table
from tests.unit.measure.records_support import Plan, write_evaluation

from anira.measure import measure
from anira.measure.tidy import find


def test_equal_records_and_seeds_give_equal_rows(tmp_path):
    folder = write_evaluation(tmp_path / "e", Plan(slope=0.5, n=50))
    first = measure(folder, draws=100)
    for path in folder.glob("*.parquet"):
        edit_table(path, lambda table: table.sample(fraction=1, shuffle=True, seed=1))
    assert measure(folder, draws=100).equals(first)
    other = measure(folder, seed=1, draws=100)
    assert not other.equals(first)
    assert find(other, "slope")["value"] == find(first, "slope")["value"]


def test_labels_come_from_the_records(tmp_path):
    plan = Plan(variant="anira-e", seed=4, step=77, max_depth=9, n=20)
    row = find(measure(write_evaluation(tmp_path / "e", plan), draws=50), "max_depth")
    assert [row[name] for name in ("task", "variant", "seed", "step", "select", "threshold", "value")] == [
        "mano", "anira-e", 4, 77, "median", None, 9,
    ]  # fmt: skip


def test_overridden_depths_are_named_as_what_they_are(tmp_path):
    table = measure(write_evaluation(tmp_path / "e", Plan(n=20, override="permuted")), draws=50)
    assert set(table["select"]) == {"permuted"}


@pytest.mark.slow
def test_half_a_million_tokens(tmp_path):
    plan = Plan(knobs=tuple(range(3, 17)), n=1500, max_depth=14, slope=0.1, probe_effect=0.3)
    table = measure(write_evaluation(tmp_path / "e", plan), draws=100)
    assert find(table, "probe_pooled", subset="stack_depth")["n"] > 300_000
    assert find(table, "slope")["low"] > 0
