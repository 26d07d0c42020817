"""The benchmarks of models run, and what they print is complete; narrow models, and nothing about time."""

import json
import math

import pytest

from anira.bench import decode, prefill, subjects, train


@pytest.fixture(autouse=True)
def small(monkeypatch):
    for name, value in {"HIDDEN": 32, "FEED_FORWARD": 64, "HEADS": 2}.items():
        monkeypatch.setattr(subjects, name, value)
    monkeypatch.setattr(decode, "CONTEXT", 12)
    monkeypatch.setattr(prefill, "TIME", 16)
    monkeypatch.setattr(train, "TIME", 16)
    monkeypatch.setattr(train, "MANO_ROWS", 8)
    monkeypatch.setattr(train, "GEMM", 64)
    monkeypatch.setattr("torch.set_num_threads", lambda threads: None)


def rows_of(anira, *words):
    result = anira("bench", *words, "--json")
    assert result.status == 0, result.err
    rows = json.loads(result.out)["results"]
    assert all(math.isfinite(value) for row in rows for value in row.values() if isinstance(value, float))
    return rows


def test_decode_has_a_line_for_each_policy_and_batch_and_mixed_depths_near_their_mean(anira):
    rows = rows_of(anira, "decode", "--repeats", "8")
    assert [row["what"].partition(",")[0] for row in rows] == ["decode anira-e", "decode anira-o"] * 3
    for row in rows[:4]:
        assert {"slope_ratio", "slope_bar", "slope_met", "intercept_ratio", "intercept_bar", "intercept_met"} < set(row)
    for row in rows[4:]:
        assert row["mean_depth"] == pytest.approx(2.0, abs=0.25)


def test_prefill_has_lines_and_mixed_depths(anira):
    rows = rows_of(anira, "prefill", "--repeats", "1")
    assert [row["what"] for row in rows][1::2] == ["prefill anira-e, mixed depths", "prefill anira-o, mixed depths"]
    assert all(row["mean_depth"] == pytest.approx(2.0, abs=0.25) for row in rows[1::2])


def test_train_stands_beside_stock_llama_and_beside_a_matrix_product(anira):
    rows = rows_of(anira, "train", "--repeats", "1")
    assert [row["flop_ratio_to_stock"] > 1 for row in rows[:2]] == [True, True]
    for row in rows[2:]:
        assert row["ratio"] == pytest.approx(row["gflops_without_padding"] / row["gemm_gflops"])
        assert 0 <= row["share_of_padding"] < 0.5
