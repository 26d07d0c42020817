"""The benchmarks of models run, and what they print is complete; narrow models, and nothing about time."""

import json
import math
from pathlib import Path

import pytest
from tests.training_support import tiny_config
from torch.utils.flop_counter import FlopCounterMode

from anira.models import AniraForCausalLM
from anira.training.data import Batches
from benchmarks import decode, policies, prefill, subjects, throughput, train


@pytest.fixture(autouse=True)
def small(monkeypatch):
    for name, value in {"HIDDEN": 32, "FEED_FORWARD": 64, "HEADS": 2}.items():
        monkeypatch.setattr(subjects, name, value)
    monkeypatch.setattr(decode, "CONTEXT", 12)
    monkeypatch.setattr(decode, "DEPTHS", (1, 3))
    monkeypatch.setattr(decode, "STOCK_LAYERS", (2, 3))
    monkeypatch.setattr(prefill, "TIME", 16)
    monkeypatch.setattr(train, "TIME", 16)
    monkeypatch.setattr(throughput, "GEMM", 64)
    shape = throughput.Shape(preset="mano-anira-o-smoke", batch_size=8, steps=2, speedup=0.0, gemm_share=0.0)
    monkeypatch.setattr(throughput, "SHAPES", (shape,))
    monkeypatch.setattr("torch.set_num_threads", lambda threads: None)


def rows_of(anira, *words):
    result = anira("bench", *words, "--json")
    assert result.status == 0, result.err
    rows = json.loads(result.out)["results"]
    assert all(math.isfinite(value) for row in rows for value in row.values() if isinstance(value, float))
    return rows


def test_decode_has_a_line_for_each_policy_and_batch_and_mixed_depths_near_their_mean(anira):
    rows = rows_of(anira, "decode", "--repeats", "3")
    assert [row["what"].partition(",")[0] for row in rows] == ["decode anira-e", "decode anira-o"] * 3
    for row in rows[:4]:
        assert {"slope_ratio", "slope_bar", "slope_met", "intercept_ratio", "intercept_bar", "intercept_met"} < set(row)
    for row in rows[4:]:
        assert row["mean_depth"] == pytest.approx(2.0, abs=0.25)


def test_prefill_has_lines_and_mixed_depths(anira):
    rows = rows_of(anira, "prefill", "--repeats", "1")
    assert [row["what"] for row in rows][1::2] == ["prefill anira-e, mixed depths", "prefill anira-o, mixed depths"]
    assert all(row["mean_depth"] == pytest.approx(2.0, abs=0.25) for row in rows[1::2])


def test_engine_has_throughput_latency_overwritten_slots_and_long_contexts(anira):
    rows = rows_of(anira, "engine", "--quick")
    served, steps = rows[:14], rows[14:]
    assert [row["bar"] for row in served if "bar" in row] == [0.9, 1.0, 1.10, 1.5] * 2
    assert sum("p99_last_token_s" in row for row in served) == 4
    assert all(0 < row["slots_ratio"] < 1 for row in served if "slots_ratio" in row)
    assert [row["what"].split(",")[1] for row in steps] == [
        f" {policy} at depth {depth}" for policy in ("anira-e", "anira-o") for depth in (2, 6)
    ]


@pytest.mark.slow
def test_train_stands_beside_stock_llama_a_matrix_product_and_other_code(anira):
    checkout = Path(__file__).parents[2]
    *steps, run = rows_of(anira, "train", "--repeats", "1", "--against", str(checkout))
    assert [row["flop_ratio_to_stock"] > 1 for row in steps] == [True, True]
    assert run["ratio"] == pytest.approx(run["gflops_without_padding"] / run["gemm_gflops"])
    assert run["speedup"] == pytest.approx(run["tokens_per_second"] / run["old_tokens_per_second"])
    assert run["met"] and run["speedup_met"]


def test_policies_stand_beside_fixed_depth_and_truncation_saves(anira, monkeypatch):
    monkeypatch.setattr(policies, "PRESET", "words-{policy}-smoke")
    rows = {row["what"]: row for row in rows_of(anira, "policies", "--repeats", "1")}
    fixed = rows["words-fixed-smoke"]
    assert (fixed["time_beside_fixed"], fixed["kept_beside_fixed"]) == (1, 1)
    assert rows["words-pondernet-smoke"]["kept_beside_fixed"] > 1.5, "it keeps a coda for each depth"
    huginn = [row["kept_megabytes"] for name, row in rows.items() if "huginn" in name]
    assert len(huginn) == 3 and huginn == sorted(huginn)


def test_each_version_is_judged_by_its_faster_way():
    seconds = {"": 2.0, "compiled_": 1.0, "old_": 3.0, "old_compiled_": 6.0}
    turns = {name: [{"seconds": each, "tokens": 600, "gemm": 0.01}] * 3 for name, each in seconds.items()}
    row = throughput._row(throughput.SHAPES[0], turns)
    assert row["speedup"] == 3.0
    assert [row[f"{name}tokens_per_second"] for name in seconds] == [300, 600, 200, 100]
    alone = throughput._row(throughput.SHAPES[0], {"": turns[""]})
    assert alone["ratio"] == pytest.approx(row["ratio"] / 2)
    assert "speedup" not in alone


def test_a_folder_without_older_code_is_refused_before_anything_is_measured(anira, tmp_path):
    result = anira("bench", "train", "--against", str(tmp_path))
    assert result.status == 2
    assert result.err == f"anira: {tmp_path} is no checkout of anira: it has no src/anira/training/loop.py\n"


def test_the_arithmetic_of_a_step_is_what_the_model_multiplies():
    """To what attention takes: it is left out of one side, because it is laid out in rows with padding."""
    config = tiny_config("brevo-anira-o-smoke", batch_size=6, model={"hidden_size": 64, "intermediate_size": 256})
    task = config.make_task()
    model = AniraForCausalLM(config.make_model_config(task)).train()
    (batch,) = Batches(task, config, model.policy.noise_width).step(1)
    with FlopCounterMode(display=False) as counter:
        model(**batch.arguments(model.device)).loss.backward()
    counts = counter.get_flop_counts()["Global"]
    linear = sum(count for op, count in counts.items() if str(op).split(".")[-1] in ("mm", "addmm", "bmm"))
    rows = task.rows(seed=config.seed, stream="train", start=0, count=6)
    assert throughput.step_flops(model.config, rows) == pytest.approx(linear, rel=0.05)
