"""kv="overwrite": one slot per token, whose keys and values are those of its last iteration; another function."""

import pytest
import torch
from tests.models_support import TOLERANCE, random_ids, random_model, small_config

from anira.config import UserError
from anira.inference import Engine
from anira.models import AniraForCausalLM, DepthCache


def decoded(model: AniraForCausalLM, ids: torch.Tensor, kv: str) -> tuple[torch.Tensor, DepthCache]:
    """Return the logits of rows that are decoded token by token, and the cache."""
    cache = DepthCache(model.config, kv=kv)
    with torch.no_grad():
        return torch.cat([model(column[:, None], past_key_values=cache).logits for column in ids.T], dim=1), cache


@pytest.mark.parametrize(("policy", "backbone"), [("anira-o", {}), ("anira-e", {"num_core_layers": 2}), ("gates", {})])
def test_it_has_one_slot_per_token_and_gives_other_logits(policy: str, backbone: dict) -> None:
    model, ids = random_model(small_config(policy, **backbone)), random_ids(2, 9)
    exact, full = decoded(model, ids, "exact")
    other, cache = decoded(model, ids, "overwrite")
    assert cache.num_slots <= ids.numel() < full.num_slots
    assert cache.core_nbytes < full.core_nbytes
    torch.testing.assert_close(other[:, 0], exact[:, 0], rtol=0, atol=TOLERANCE)  # nobody before it
    assert (other - exact).abs().max() > 1e-3


def test_where_there_is_one_iteration_nothing_changes() -> None:
    model, ids = random_model(small_config("fixed", max_depth=1)), random_ids(2, 9)
    torch.testing.assert_close(decoded(model, ids, "overwrite")[0], decoded(model, ids, "exact")[0], rtol=0, atol=0)


@pytest.mark.parametrize("policy", ["anira-o", "anira-e"])
def test_the_engine_overwrites_as_generate_does(policy: str) -> None:
    """From a prompt of one token: longer ones enter in parts, and see what the parts before have left so far."""
    model = random_model(small_config(policy))
    made = Engine(model, kv="overwrite", max_slots=8).submit([1], max_new_tokens=8).result()
    cache, token, tokens = DepthCache(model.config, kv="overwrite"), torch.tensor([[1]]), []
    with torch.no_grad():
        for _ in range(8):
            token = model(token, past_key_values=cache).logits[:, -1:].argmax(-1)
            tokens.append(int(token))
    assert list(made.tokens) == tokens


def test_it_needs_a_shared_core() -> None:
    with pytest.raises(UserError, match="needs a shared core"):
        DepthCache(small_config("fixed", shared_core=False), kv="overwrite")
    with pytest.raises(UserError, match="kv must be one of exact, overwrite"):
        DepthCache(small_config("fixed"), kv="once")
