"""The answer tokens of BREVO's records: whose they are, their features, what is refused."""

import numpy as np
import polars as pl
import pytest
from tests.unit.measure.brevo_support import Graphs, change, write_graphs

from anira.config import UserError
from anira.measure.brevo.tokens import FEATURES, READ, read_answer_tokens
from anira.measure.records.loading import load_evaluation
from anira.measure.records.reading import read_records


def read(folder):
    return read_answer_tokens(read_records(load_evaluation(folder)))


def test_rows_are_the_nodes_of_right_answers(tmp_path):
    folder = write_graphs(tmp_path / "r", Graphs(n=30, accuracy=0.6))
    found = read(folder)
    right, tokens = set(), []
    for size in (3, 4, 5, 6):
        instances = pl.read_parquet(folder / f"instances-k{size:03d}.parquet").filter("correct")
        right |= set(instances["instance_id"])
        part = pl.read_parquet(folder / f"tokens-k{size:03d}.parquet")
        tokens.append(part.filter(pl.col("instance_id").is_in(instances["instance_id"].to_list())))
    expected = pl.concat(tokens).drop_nulls("probe_dfs_depth")  # <eos> has none
    assert (found.instances, len(found.instance)) == (len(right), len(expected))
    for name in FEATURES:
        if name not in READ:
            assert (found.features[name] == expected[f"probe_{name}"].to_numpy()).all()
    assert found.expected_depth == pytest.approx(expected["expected_depth"].to_numpy())
    assert (found.argmax_depth == expected["exit_depth"].to_numpy()).all()
    assert (found.position == expected["position"].to_numpy() - 10).all()
    assert (found.size == expected["knob"].to_numpy()).all()
    assert (np.diff(found.instance) >= 0).all()


def test_read_features_are_the_depths_where_predecessors_were_predicted(tmp_path):
    folder = write_graphs(tmp_path / "r", Graphs(n=12, sizes=(6,), accuracy=1.0))
    found = read(folder)
    tokens = pl.read_parquet(folder / "tokens-k006.parquet")
    depth = {(row["instance_id"], row["position"]): row["expected_depth"] for row in tokens.iter_rows(named=True)}
    nodes = tokens.drop_nulls("probe_dfs_depth")
    expected = [
        [depth[row["instance_id"], position] for position in row["predecessor_positions"]] or [0.0]
        for row in nodes.iter_rows(named=True)
    ]
    assert any(len(one) > 1 for one in expected)
    assert found.features["read_mean"] == pytest.approx([np.mean(one) for one in expected])
    assert found.features["read_max"] == pytest.approx([max(one) for one in expected])


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (Graphs(accuracy=0.0), "no instance was answered right, and 50 are needed"),
        (Graphs(sizes=(3,), n=20, accuracy=1.0), "only 20 instances were answered right, and 50 are needed"),
        (Graphs(flat=True), "the expected depth is constant"),
        (Graphs(), ""),
    ],
)
def test_why_there_is_nothing_to_fit(tmp_path, plan, reason):
    assert read(write_graphs(tmp_path / "r", plan)).undefined == reason


REFUSED = {
    "probe": ("tokens", lambda table: table.drop("probe_newly_enabled"), "has no probe_newly_enabled: evaluate"),
    "positions": ("tokens", lambda table: table.drop("predecessor_positions"), "has no predecessor_positions"),
    "depth": (
        "tokens",
        lambda table: table.with_columns(expected_depth=pl.lit(None, dtype=pl.Float32)),
        "has no expected depth: its policy has no distribution",
    ),
    "task": (
        "instances",
        lambda table: table.with_columns(task=pl.lit("mano")),
        "records of task 'mano', not of brevo",
    ),
    "values": (
        "tokens",
        lambda table: table.with_columns(probe_num_nodes=pl.lit(None, dtype=pl.Float32)),
        "right answers without a node or a probe",
    ),
}


@pytest.mark.parametrize(("kind", "edit", "complaint"), REFUSED.values(), ids=REFUSED.keys())
def test_other_records_are_refused(tmp_path, kind, edit, complaint):
    folder = write_graphs(tmp_path / "r", Graphs(n=15))
    change(folder, kind, edit)
    with pytest.raises(UserError, match=complaint):
        read(folder)
