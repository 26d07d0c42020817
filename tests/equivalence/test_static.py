"""Decoding in fixed shapes gives what decoding gives, in float64, and compiles to one graph."""

from typing import Any

import pytest
import torch
from tests.equivalence.test_cached_decoding import BACKBONES, VARIANTS
from tests.models_support import TOLERANCE, Case, random_ids, random_model, small_config, spread_case

from anira.config import UserError
from anira.models import AniraForCausalLM, StaticDepthCache


def static_cache(model: AniraForCausalLM, rows: int, length: int) -> StaticDepthCache:
    return StaticDepthCache(model.config, rows, length, dtype=torch.float64)


def in_static_calls(case: Case, sizes: list[int]) -> tuple[torch.Tensor, StaticDepthCache]:
    """Return the logits of all columns, in calls of these sizes."""
    cache, logits, start = static_cache(case.model, len(case.ids), case.ids.shape[1] + 3), [], 0
    for size in sizes:
        end = start + size
        mask = case.valid[:, :end].long()
        logits.append(case.model(case.ids[:, start:end], mask, past_key_values=cache, **case.settings).logits)
        start = end
    return torch.cat(logits, dim=1), cache


CASES = [
    *[("anira-e", "state"), ("anira-o", "kv-2"), ("fixed", "kv-3-concat"), ("anira-o", "state-concat-random")],
    *[("gates", "state"), ("gates-running", "kv-2"), ("similarity-running", "state"), ("unshared", "state-add")],
]


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize(("variant", "backbone"), CASES)
def test_static_calls_are_the_parallel_graph(variant: str, backbone: str, padded: bool) -> None:
    case = spread_case(small_config(**VARIANTS[variant], **BACKBONES[backbone]), batch=3, time=10, padded=padded)
    whole = case.parallel()
    for sizes in ([10], [4, 1, 1, 4], [1] * 10):
        logits, cache = in_static_calls(case, sizes)
        torch.testing.assert_close(logits[case.valid], whole.logits[case.valid], rtol=0, atol=TOLERANCE)
        assert torch.equal(cache.exit_depth, whole.exit_depth * case.valid)


@pytest.mark.parametrize("options", [{}, {"num_beams": 3}, {"do_sample": True}])
@pytest.mark.parametrize("policy", ["anira-e", "anira-o"])
def test_generate_takes_a_static_cache(policy: str, options: dict[str, Any]) -> None:
    model, ids = random_model(small_config(policy)), random_ids(2, 7)
    mask = torch.ones_like(ids)
    mask[0, :3] = 0
    made = []
    for kind in (None, "static"):
        torch.manual_seed(0)
        made.append(
            model.generate(
                ids, attention_mask=mask, max_new_tokens=6, pad_token_id=0, cache_implementation=kind, **options
            )
        )
    assert torch.equal(*made)


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "backbone"), [("anira-e", {}), ("anira-o", {"freeze": "kv"}), ("gates", {})])
def test_a_step_is_one_graph_without_breaks(policy: str, backbone: dict[str, Any]) -> None:
    model = random_model(small_config(policy, max_depth=3, num_prelude_layers=1, num_coda_layers=1, **backbone))
    ids = random_ids(2, 9)
    torch.compiler.reset()
    seen = torch._dynamo.utils.counters
    seen.clear()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    found = []
    for run in (model, compiled):
        cache = static_cache(model, 2, 12)
        with torch.no_grad():
            model(ids[:, :4], past_key_values=cache)
            found.append(torch.cat([run(one[:, None], past_key_values=cache).logits for one in ids[:, 4:].T], dim=1))
    torch.testing.assert_close(*found, rtol=0, atol=TOLERANCE)
    assert not seen["graph_break"]
    assert seen["stats"]["unique_graphs"] == 1, "no step is compiled again"


def test_what_does_not_fit_is_refused() -> None:
    model, ids = random_model(small_config("anira-e")), random_ids(2, 7)
    with pytest.raises(UserError, match="room for 5 tokens"):
        model(ids, past_key_values=static_cache(model, 2, 5))
    with pytest.raises(UserError, match="has 3 rows, and the batch 2"):
        model(ids, past_key_values=static_cache(model, 3, 9))
    with pytest.raises(UserError, match="leave out max_depth"):
        model(ids, past_key_values=static_cache(model, 2, 9), max_depth=2)
    with pytest.raises(UserError, match="belongs to another model"):
        model(ids, past_key_values=StaticDepthCache(small_config("anira-e", freeze="kv"), 2, 9, dtype=torch.float64))
