"""The parallel graph, token-by-token decoding and chunked prefill are one function, in float64, depths included."""

from typing import Any

import pytest
import torch
from torch import Tensor

from anira.models import AniraOutput, uniform_noise
from tests.models_support import Case, assert_same, depths_are_spread, joined, random_ids, small_config, spread_case

BACKBONES: dict[str, dict[str, Any]] = {
    "state": {"num_attention_heads": 4, "num_key_value_heads": 2},
    "state-add": {"injection": "add", "num_prelude_layers": 2},
    "state-concat-random": {"injection": "concat-linear", "initial_state": "random"},
    "kv-1-concat": {"freeze": "kv", "injection": "concat-linear", "num_key_value_heads": 1},
    "kv-2": {"num_core_layers": 2, "num_coda_layers": 0, "hidden_size": 32, "num_attention_heads": 4},
    "kv-2-add-zero": {"num_core_layers": 2, "injection": "add", "initial_state": "zero", "num_prelude_layers": 0},
    "kv-3": {"num_core_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2},
    "kv-3-concat": {"num_core_layers": 3, "injection": "concat-linear"},
}
VARIANTS: dict[str, dict[str, Any]] = {
    "anira-e": {"policy": "anira-e"},
    "anira-o": {"policy": "anira-o"},
    "fixed": {"policy": "fixed"},
    "unshared": {"policy": "fixed", "shared_core": False},
    "similarity": {"policy": "similarity"},
    "gates": {"policy": "gates"},
    "gates-running": {"policy": "gates-running"},
}


def case_of(variant: str, backbone: str, **extra: Any) -> Case:
    case = spread_case(small_config(**VARIANTS[variant], **BACKBONES[backbone]), **extra)
    assert case.model.policy.timing == "none" or depths_are_spread(case)
    return case


def assert_all_ways_agree(case: Case) -> AniraOutput:
    whole = case.parallel()
    for cached in (case.one_by_one(), case.in_chunks(), case.cached([case.ids.shape[1]])):
        assert_same(whole, cached, case.valid)
        assert (cached.exit_depth[~case.valid] == 0).all()
        assert torch.equal(cached.past_key_values.exit_depth, cached.exit_depth)
    return whole


def all_backbones_but(*missing: str) -> list[str]:
    return [name for name in BACKBONES if name not in missing]


# Left out is what cannot have an exit at the least depth: no state turns away from a zero state, and no gate without a
# bias is open on one.
COMBINATIONS = [
    *[(variant, name) for variant in ("anira-e", "anira-o", "fixed", "unshared") for name in BACKBONES],
    *[("similarity", name) for name in all_backbones_but("kv-2-add-zero")],
    *[(variant, name) for variant in ("gates", "gates-running") for name in all_backbones_but("kv-2-add-zero")],
]


@pytest.mark.parametrize(("variant", "backbone"), COMBINATIONS)
def test_one_row(variant: str, backbone: str) -> None:
    assert_all_ways_agree(case_of(variant, backbone, batch=1))


@pytest.mark.parametrize(("variant", "backbone"), COMBINATIONS)
def test_rows_with_different_padding(variant: str, backbone: str) -> None:
    case = case_of(variant, backbone, batch=4, padded=True)
    whole = assert_all_ways_agree(case)
    for i in range(4):
        alone = case.row(i).parallel()
        this_row = case.valid & (torch.arange(4) == i)[:, None]
        assert_same(alone, whole, None) if False else assert_row(alone, whole, this_row)
