"""What the tests of criteria, imitating heads and nulls ask of every policy."""

from typing import Any

import torch
from tests.models_support import MAX_DEPTH, VOCAB, Case, assert_same, left_padding, pick, random_ids, random_model

from anira.inference import forward_cost
from anira.models import AniraConfig, AniraForCausalLM, AniraOutput

SIZES = {"vocab_size": VOCAB, "hidden_size": 16, "intermediate_size": 24, "num_attention_heads": 2}


def config_of(policy: Any, **changes: Any) -> AniraConfig:
    return AniraConfig(**{**SIZES, "max_depth": MAX_DEPTH, "policy": policy, **changes})


def case_of(
    policy: Any,
    *,
    padded: bool = False,
    settings: dict[str, Any] | None = None,
    num_depths: int = 3,
    **changes: Any,
) -> Case:
    """Return a case in which at least so many depths occur, of a few seeded ones."""
    mask = left_padding(3, 9) if padded else None
    for seed in range(20):
        case = Case(random_model(config_of(policy, **changes), seed), random_ids(3, 9, seed), mask, settings or {})
        if len(set(case.parallel().exit_depth[case.valid].tolist())) >= num_depths:
            return case
    raise AssertionError("no seed spreads the depths")


def assert_all_ways_agree(case: Case, *, rows_alone: bool = True) -> AniraOutput:
    """Hold the two executions equal, however the tokens are cut, and slots held equal to slots counted."""
    whole = case.parallel()
    for cached in (case.one_by_one(), case.in_chunks(), case.cached([case.ids.shape[1]])):
        assert_same(whole, cached, case.valid)
    assert_same(whole, case.parallel(active=True), case.valid)
    if case.mask is not None and rows_alone:
        for i in range(len(case.ids)):
            row = case.valid & (torch.arange(len(case.ids)) == i)[:, None]
            assert_same(pick(whole, row), case.row(i).parallel())
    prefill = case.parallel(use_cache=True)
    counts = {"valid": case.valid, "max_depth": case.max_depth, "ran": whole.ran, "hides": whole.hides}
    cost = forward_cost(case.model.config, case.model.policy, whole.executed, **counts)
    assert prefill.past_key_values.num_slots == cost.kv_slots
    return whole


def assert_own_depths_forced_change_nothing(case: Case) -> None:
    free = case.parallel()
    per_token = {"exit_depth": free.executed.clamp(min=1)}
    settings = {name: value for name, value in case.settings.items() if name == "max_depth"}
    forced = Case(case.model, case.ids, case.mask, settings, per_token)
    assert_same(free, forced.parallel(), case.valid)
    assert_same(free, forced.cached([case.ids.shape[1]]), case.valid)


def training_batch(model: AniraForCausalLM, seed: int = 0) -> dict[str, torch.Tensor]:
    """Return rows of which every other token is an answer."""
    ids = random_ids(3, 12, seed)
    return {"input_ids": ids, "labels": torch.where(torch.arange(12) % 2 == 0, ids, -100)}
