"""How often the host would wait for a device: at most twice in a decoding step or a tick, with and without padding.

Online policies are the exception in `generate`: whether an iteration runs is known only after the one before it, so
there is one look for each iteration but the first. The engine, whose tick is one iteration, has two for every policy.
"""

import pytest
import torch
from tests.host_looks import HostLooks
from tests.models_support import random_ids, random_model, small_config

from anira.inference import Engine
from anira.models import AniraForCausalLM, DepthCache, arguments, execution
from anira.models.policies import decider, universal

DEPTH = 6
BEFORE_ITERATIONS = {"fixed": 0, "anira-e": 1}
"""Looks of the core, for policies that know all depths before the first iteration."""


@pytest.fixture(autouse=True)
def values_are_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the checks that are made only where looking is free."""
    for module in (arguments, decider, execution, universal):
        monkeypatch.setattr(module, "looking_is_free", lambda tensor: False)


def model_of(policy: str) -> AniraForCausalLM:
    return random_model(small_config(policy, max_depth=DEPTH))


def padded_mask(padded: bool) -> torch.Tensor:
    mask = torch.ones(4, 10, dtype=torch.long)
    mask[0, :3] = mask[2, :6] = 1 - padded
    return mask


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("policy", ["fixed", "anira-e", "anira-o", "gates"])
def test_a_decoding_step(policy: str, padded: bool) -> None:
    model, cache, mask = model_of(policy), DepthCache(model_of(policy).config), padded_mask(padded)
    with torch.no_grad():
        model(random_ids(4, 10), mask, past_key_values=cache)
        for step in range(3):
            mask = torch.cat([mask, torch.ones(4, 1, dtype=torch.long)], dim=1)
            with HostLooks() as looks:
                out = model(random_ids(4, 1, step), mask, past_key_values=cache)
            online = int(out.executed.max()) if policy == "anira-o" else DEPTH
            assert looks.count <= 1 + BEFORE_ITERATIONS.get(policy, online)


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("policy", ["fixed", "anira-e"])
def test_a_step_of_generate(policy: str, padded: bool) -> None:
    """The difference between long and short generations, so that what is done once does not count."""
    model, counts = model_of(policy), []
    for length in (3, 7):
        with HostLooks() as looks:
            model.generate(random_ids(4, 10), attention_mask=padded_mask(padded), max_new_tokens=length, pad_token_id=0)
        counts.append(looks.count)
    assert counts[1] - counts[0] <= 2 * 4


@pytest.mark.parametrize("policy", ["fixed", "anira-e", "anira-o", "gates"])
def test_a_tick_of_the_engine(policy: str) -> None:
    engine = Engine(model_of(policy), prompt_tokens=7)
    engine.submit([1, 2, 3, 4, 5], max_new_tokens=6)
    engine.submit([3] * 11, max_new_tokens=5, temperature=0.7)
    while not engine.idle:
        with HostLooks() as looks:
            engine.tick()
        assert looks.count <= 2
