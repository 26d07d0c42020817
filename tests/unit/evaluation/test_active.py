"""Evaluation computes only the tokens that still run, and says what the parallel graph says."""

from typing import Any

import polars as pl
import pytest
import torch
from tests.unit.evaluation.evaluation_support import TASKS, evaluated, model_for
from torch.utils.flop_counter import FlopCounterMode

from anira.evaluation import predict as module
from anira.evaluation.predict import Settings, predict
from anira.models import AniraForCausalLM

ROUNDED = ("expected_depth", "exit_probs", "margin", "ce", "change")
CASES: list[tuple[str, str, dict[str, Any]]] = [
    *[("mano", policy, {}) for policy in ("anira-e", "anira-o", "fixed", "similarity", "similarity-running")],
    *[("brevo", "anira-o", {"select": rule}) for rule in ("mode", "mean")],
    *[("brevo", policy, {"threshold": 0.8}) for policy in ("anira-e", "anira-o")],
    *[("depo", policy, {"override": "permuted"}) for policy in ("anira-e", "anira-o", "similarity")],
    *[("brevo", "anira-o", {"decode": "generated"}), ("mano", "gates", {})],
]


@pytest.fixture
def parallel(monkeypatch):
    """Make the next evaluations run the parallel graph."""
    return lambda: monkeypatch.setattr(module, "runs_active", lambda model: False)


@pytest.mark.parametrize(("task", "policy", "asked"), CASES)
def test_records_are_those_of_the_parallel_graph(task, policy, asked, tmp_path, parallel):
    """Everything that is no float is equal; floats, which records have in float32, to one unit of its rounding."""
    model = model_for(TASKS[task], policy)
    active = evaluated(model, TASKS[task], tmp_path / "active", **asked)
    parallel()
    plain = evaluated(model, TASKS[task], tmp_path / "plain", **asked)
    assert active[0].equals(plain[0])
    assert active[1].drop(ROUNDED).equals(plain[1].drop(ROUNDED))
    for name in ROUNDED:
        ours, theirs = (
            table[1][name].explode() if table[1].schema[name] == pl.List(pl.Float32) else table[1][name]
            for table in (active, plain)
        )
        assert ours.is_null().equals(theirs.is_null())
        assert ((ours - theirs).abs() <= theirs.abs() * 2**-23).all()


@pytest.mark.parametrize("policy", ["anira-e", "anira-o", "similarity"])
def test_in_float64_both_executions_agree_to_twelve_digits(policy, parallel):
    task = TASKS["brevo"]
    model, rows = model_for(task, policy), task.rows(seed=0, stream="eval", start=0, count=20)
    with torch.no_grad():
        active = module._read(model, rows)
        parallel()
        plain = module._read(model, rows)
    assert set(active) == set(plain)
    for name in active:
        torch.testing.assert_close(active[name], plain[name], rtol=1e-12, atol=1e-12)


def flops(model: AniraForCausalLM, **settings: Any) -> int:
    rows = TASKS["mano"].rows(seed=0, stream="eval", start=0, count=20, knob=4)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        predict(model, rows, Settings(**settings))
    return counter.get_total_flops()


def test_halted_tokens_cost_nothing_more(parallel):
    model = model_for(TASKS["mano"], "anira-o")
    early, late = (flops(model, threshold=threshold) for threshold in (1e-9, 1.0))
    parallel()
    assert flops(model, threshold=1e-9) == flops(model, threshold=1.0) >= late
    assert early < late / 2


def test_a_model_in_parts_keeps_the_parallel_graph(monkeypatch):
    model = model_for(TASKS["mano"], "similarity")
    assert module.runs_active(model)
    monkeypatch.setattr(module, "runs_active", lambda model: False)
    rows = TASKS["mano"].rows(seed=0, stream="eval", start=0, count=3, knob=2)
    with torch.no_grad():
        assert predict(model, rows, Settings(override="permuted")).exit_depth.shape == rows.input_ids.shape
