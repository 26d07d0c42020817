"""What must hold for every policy that decides: all executions agree, forcing changes nothing, slots are counted."""

from typing import Any

import torch
from tests.models_support import (
    MAX_DEPTH,
    TOLERANCE,
    VOCAB,
    Case,
    assert_same,
    left_padding,
    random_ids,
    random_model,
)

from anira.inference.cost import forward_cost
from anira.models import AniraConfig, AniraForCausalLM, AniraOutput


def config_of(policy: str, options: dict[str, Any] | None = None, **changes: Any) -> AniraConfig:
    sizes = {"vocab_size": VOCAB, "hidden_size": 16, "intermediate_size": 24, "num_attention_heads": 2}
    chosen = {"name": policy, **(options or {})}
    return AniraConfig(**{**sizes, "max_depth": MAX_DEPTH, "policy": chosen, **changes})


def model_of(policy: str, options: dict[str, Any] | None = None, seed: int = 0, **changes: Any) -> AniraForCausalLM:
    return random_model(config_of(policy, options, **changes), seed)


def various(case: Case) -> bool:
    return len(case.parallel().exit_depth[case.valid].unique()) >= 3


def various_case(config: AniraConfig, padded: bool = False, **settings: Any) -> Case:
    """Return the first of a few seeded cases in which at least three depths occur."""
    mask = left_padding(3, 9) if padded else None
    for seed in range(40):
        case = Case(random_model(config, seed), random_ids(3, 9, seed), mask, settings)
        if various(case):
            return case
    raise AssertionError("no seed gives various depths")


def assert_executions_agree(case: Case) -> AniraOutput:
    """Hold the parallel graph, decoding, chunks, prefill and the active-only execution equal."""
    whole = case.parallel()
    for other in (case.one_by_one(), case.in_chunks(), case.cached([case.ids.shape[1]]), case.parallel(active=True)):
        assert_same(whole, other, case.valid)
    return whole


def assert_own_depths_change_nothing(case: Case) -> None:
    """Force the depths that the model executes anyway."""
    own = case.parallel()
    forced = Case(case.model, case.ids, case.mask)
    forced.per_token["exit_depth"] = torch.where(case.valid, own.executed, 1)
    again = forced.parallel()
    assert_same(again, forced.in_chunks(), case.valid)
    assert_same(again, forced.parallel(active=True), case.valid)
    torch.testing.assert_close(again.logits[case.valid], own.logits[case.valid], rtol=0, atol=TOLERANCE)
    assert torch.equal(again.executed[case.valid], own.executed[case.valid])


def assert_forced_depths_agree(case: Case) -> None:
    """Force other depths than the model's own."""
    depths = torch.randint(1, MAX_DEPTH + 1, case.ids.shape, generator=torch.Generator().manual_seed(7))
    forced = Case(case.model, case.ids, case.mask, per_token={"exit_depth": depths})
    whole = forced.parallel()
    assert torch.equal(whole.executed[case.valid], depths[case.valid])
    assert_same(whole, forced.in_chunks(), case.valid)
    assert_same(whole, forced.parallel(active=True), case.valid)


def assert_slots_are_counted(case: Case) -> None:
    """Hold what a cache holds against what is counted."""
    out = case.parallel()
    extra = {"valid": case.valid, "max_depth": case.max_depth, "ran": out.ran, "hides": out.hides}
    counted = forward_cost(case.model.config, case.model.policy, out.executed, **extra)
    for cached in (case.in_chunks(), case.cached([case.ids.shape[1]])):
        assert cached.past_key_values.num_slots == counted.kv_slots


def assert_conforms(case: Case) -> None:
    """Hold all of it, for a case whose depths differ."""
    assert various(case)
    assert_executions_agree(case)
    assert_own_depths_change_nothing(case)
    assert_forced_depths_agree(case)
    assert_slots_are_counted(case)


def training_loss(model: AniraForCausalLM, rows: int = 3, time: int = 14, **extra: Any) -> AniraOutput:
    """Take the loss of a training step on random rows, and its gradient."""
    ids = random_ids(rows, time)
    out = model.train()(ids, labels=ids, **extra)
    out.loss.backward()
    return out
