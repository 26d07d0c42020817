"""Whatever else runs, a request gets from the engine the tokens and depths that decoding gives it alone, in float64."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models_support import VOCAB, random_model, small_config

from anira.inference import Engine
from anira.models import AniraForCausalLM, DepthCache
from anira.models.policies import policy_class, policy_names

OURS = [name for name in policy_names() if policy_class(name).__module__.startswith("anira.")]
BACKBONES: dict[str, dict[str, Any]] = {
    "one layer": {},
    "kept keys": {"num_core_layers": 2, "num_coda_layers": 2},
    "first keys": {"freeze": "first"},
    "no coda": {"num_coda_layers": 0, "injection": "add"},
    "no prelude": {"num_prelude_layers": 0, "injection": "concat-linear", "initial_state": "zero"},
    "grouped heads": {"num_key_value_heads": 1, "core_norm": "fed-back"},
}


def model_of(policy: str, **changes: Any) -> AniraForCausalLM:
    return random_model(small_config(policy, **changes))


def prompts(count: int, seed: int = 0) -> list[list[int]]:
    """Return prompts of very different lengths."""
    rng = np.random.default_rng(seed)
    return [rng.integers(1, VOCAB, size=int(rng.integers(1, 14))).tolist() for _ in range(count)]


def alone(model: AniraForCausalLM, prompt: list[int], count: int, **rule: Any) -> tuple[list[int], list[int]]:
    """Return the tokens that greedy decoding gives, and the depths of all tokens that were read."""
    cache, ids, tokens = DepthCache(model.config), torch.tensor([prompt]), []
    with torch.no_grad():
        for _ in range(count):
            ids = model(ids, past_key_values=cache, **rule).logits[:, -1:].argmax(-1)
            tokens.append(int(ids))
    assert cache.exit_depth is not None
    return tokens, cache.exit_depth[0].tolist()


def assert_as_alone(model: AniraForCausalLM, handle: Any, **rule: Any) -> None:
    made = handle.result()
    tokens, depths = alone(model, handle.prompt, len(made.tokens), **rule)
    assert list(made.tokens) == tokens
    assert list(made.prompt_depth) + list(made.exit_depth[1:]) == depths
    assert made.exit_depth[0] == made.prompt_depth[-1]


@pytest.mark.parametrize("policy", OURS)
def test_every_policy(policy: str) -> None:
    model = model_of(policy)
    engine = Engine(model, prompt_tokens=7, max_rows=4)
    handles = [engine.submit(prompt, max_new_tokens=4) for prompt in prompts(4)]
    for handle in handles:
        assert_as_alone(model, handle)
    assert engine.idle and all(store.used == 0 for store in engine.stages.stores)


@pytest.mark.parametrize(
    ("policy", "backbone"),
    [
        (policy, backbone)
        for policy in ("anira-e", "anira-o", "mixture-of-depths", "mor-token", "gates", "similarity-running")
        for backbone in BACKBONES
        if backbone != "first keys" or policy.startswith("anira-")  # it wants all to run once, and to be seen
    ],
)
def test_every_backbone(policy: str, backbone: str) -> None:
    model = model_of(policy, **BACKBONES[backbone])
    engine = Engine(model, prompt_tokens=5, max_rows=3)
    for handle in [engine.submit(prompt, max_new_tokens=4) for prompt in prompts(4, seed=1)]:
        assert_as_alone(model, handle)


def test_requests_with_rules_of_their_own() -> None:
    model = model_of("anira-o")
    rules: list[dict[str, Any]] = [
        {},
        {"select": "quantile", "threshold": 0.9},
        {"select": "mode"},
        {"exit_depth": 2},
        {"select": "quantile", "threshold": 0.2},
        {"exit_depth": 5},
    ]
    engine = Engine(model, prompt_tokens=6)
    handles = [
        engine.submit(prompt, max_new_tokens=5, **rule) for prompt, rule in zip(prompts(6, seed=2), rules, strict=True)
    ]
    for handle, rule in zip(handles, rules, strict=True):
        assert_as_alone(model, handle, **rule)


@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_a_random_schedule(data: st.DataObject) -> None:
    """Requests join, leave and are cancelled at any tick, under a small cap."""
    policy = data.draw(st.sampled_from(["anira-e", "anira-o", "mixture-of-depths", "gates", "similarity-running"]))
    model = model_of(policy, num_core_layers=data.draw(st.sampled_from([1, 2])))
    engine = Engine(
        model, max_slots=200, max_rows=data.draw(st.integers(1, 5)), prompt_tokens=data.draw(st.integers(1, 9))
    )
    waiting, handles = prompts(data.draw(st.integers(1, 12)), seed=data.draw(st.integers(0, 99))), []
    while waiting or not engine.idle:
        if waiting and (engine.idle or data.draw(st.booleans())):
            handles.append(engine.submit(waiting.pop(), max_new_tokens=data.draw(st.integers(1, 8))))
        if handles and data.draw(st.integers(0, 19)) == 0:
            data.draw(st.sampled_from(handles)).cancel()
        engine.tick()
        assert engine.stats["slots"] <= engine.stats["reserved_slots"] <= engine.max_slots
    assert all(store.used == 0 for store in engine.stages.stores)
    for handle in handles:
        if handle.tokens:
            tokens, depths = alone(model, handle.prompt, len(handle.tokens))
            assert [token.id for token in handle.tokens] == tokens
            assert handle.prompt_depth + [token.exit_depth for token in handle.tokens[1:]] == depths
        assert handle.reason == "cancelled" or len(handle.tokens) == handle.options.max_new_tokens
