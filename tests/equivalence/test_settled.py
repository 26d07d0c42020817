"""Settled keys and values, and masks made in blocks, change nothing: the same tests with contexts that are settled."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.equivalence import test_cached_decoding as decoding
from tests.equivalence.test_cache_operations import MODELS, Mirror, numbers, operations
from tests.equivalence.test_engine import assert_as_alone, model_of, prompts
from tests.models_support import TOLERANCE, random_ids, random_model, small_config

from anira.inference import Engine
from anira.models import DepthCache, attention
from anira.models.slots import SlotStore


@pytest.fixture(autouse=True)
def early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SlotStore, "settle_after", 3)
    monkeypatch.setattr(attention, "_MASK_LIMIT", 40)


CASES = [("anira-e", "state"), ("anira-o", "kv-2"), ("fixed", "kv-3"), ("gates", "state"), ("gates-running", "kv-2")]


@pytest.mark.parametrize(("variant", "backbone"), CASES)
def test_rows_with_different_padding(variant: str, backbone: str) -> None:
    decoding.test_rows_with_different_padding(variant, backbone)


def test_other_depths() -> None:
    decoding.test_halted_tokens_may_become_invisible("state")
    decoding.test_max_depth_may_change_between_calls("anira-o", "state", (8, 5, 8))
    decoding.test_exits_from_layers_that_are_not_shared("anira-o", "state")


@pytest.mark.parametrize("name", MODELS)
@settings(deadline=None, max_examples=15)
@given(batch=st.integers(1, 3), padded=st.booleans(), seed=numbers, calls=operations)
def test_any_operations_against_a_new_start(name: str, batch: int, padded: bool, seed: int, calls: list) -> None:
    model, none = MODELS[name], torch.zeros(batch, 0, dtype=torch.long)
    mirror = Mirror(model, DepthCache(model.config), none, none, none, {})
    SlotStore.settle_after = 3
    mirror.append(5, seed, padded=padded)
    for call, *arguments in calls:
        getattr(mirror, call)(*arguments)
    logits = mirror.append(3, seed + 1)
    torch.testing.assert_close(logits, model(mirror.ids, mirror.mask).logits[:, -3:], rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("policy", ["anira-e", "anira-o", "mixture-of-depths", "similarity-running"])
def test_the_engine(policy: str) -> None:
    model = model_of(policy)
    engine = Engine(model, prompt_tokens=5, max_rows=3)
    for handle in [engine.submit(prompt, max_new_tokens=6) for prompt in prompts(4, seed=3)]:
        assert_as_alone(model, handle)
    assert all(store.used == 0 for store in engine.stages.stores)


@pytest.mark.parametrize(("policy", "freeze"), [("anira-o", "state"), ("anira-e", "kv"), ("anira-o", "first")])
def test_no_slot_is_kept_twice_and_none_is_copied_in_a_step(policy: str, freeze: str) -> None:
    """A token has the slots it had before, and only recent columns are gathered."""
    model = random_model(small_config(policy, freeze=freeze))
    cache = DepthCache(model.config)
    out = model(random_ids(2, 12), past_key_values=cache)
    before = cache.num_slots
    assert model.config.freeze != "first" or before == 24
    with torch.no_grad():
        more = model(random_ids(2, 1), past_key_values=cache)
    assert cache.core.first.tolist() == [12, 12]
    assert (cache.core.table >= 0).any(0).sum() == 2, "the table holds the new tokens alone"
    per_token = {"state": (more.executed + 1).clamp(max=5), "kv": more.executed, "first": torch.ones(2)}
    assert cache.num_slots - before == per_token[freeze].sum()
    assert out.past_key_values is cache


def test_a_failed_call_leaves_settled_tokens_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    model, cache = random_model(small_config("anira-o")), DepthCache(model_of("anira-o").config)
    ids = random_ids(2, 12)
    with torch.no_grad():
        model(ids[:, :10], past_key_values=cache)
        with monkeypatch.context() as broken, pytest.raises(ZeroDivisionError):
            broken.setattr(model, "head_logits", lambda z: 1 / 0)
            model(ids[:, 10:11], past_key_values=cache)
        last = model(ids[:, 10:], past_key_values=cache).logits
    torch.testing.assert_close(last, model(ids).logits[:, 10:], rtol=0, atol=TOLERANCE)
