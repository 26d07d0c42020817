"""The parallel graph, token-by-token decoding and chunked prefill are one function, in float64, depths included."""

from typing import Any

import pytest
import torch
from tests.models_support import (
    TOLERANCE,
    Case,
    assert_same,
    depths_are_spread,
    noise_for,
    pick,
    small_config,
    spread_case,
)
from torch import Tensor

from anira.config import UserError
from anira.models import AniraOutput
from anira.models.backbone import run_layers

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
    "similarity-running": {"policy": "similarity-running"},
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
    active = case.parallel(active=True)  # nothing is kept, and halted tokens cost nothing all the same
    assert active.past_key_values is None
    assert_same(whole, active, case.valid)
    assert (active.exit_depth[~case.valid] == 0).all()
    return whole


# Left out: nothing can be similar to a state of zeros, and no gate without a bias opens on one.
NON_ZERO = [name for name in BACKBONES if name != "kv-2-add-zero"]
COMBINATIONS = [
    *[(variant, name) for variant in ("anira-e", "anira-o", "fixed", "unshared") for name in BACKBONES],
    *[("similarity", name) for name in NON_ZERO],
    *[(kind, name) for kind in ("gates", "gates-running") for name in NON_ZERO],
]


@pytest.mark.parametrize(("variant", "backbone"), COMBINATIONS)
def test_one_row(variant: str, backbone: str) -> None:
    assert_all_ways_agree(case_of(variant, backbone, batch=1, time=10))


@pytest.mark.parametrize(("variant", "backbone"), COMBINATIONS)
def test_rows_with_different_padding(variant: str, backbone: str) -> None:
    case = case_of(variant, backbone, batch=4, time=10, padded=True)
    whole = assert_all_ways_agree(case)
    for i in range(4):
        row = case.valid & (torch.arange(4) == i)[:, None]
        assert_same(pick(whole, row), case.row(i).parallel())


@pytest.mark.parametrize("backbone", ["state", "kv-2"])
def test_halted_tokens_may_become_invisible(backbone: str) -> None:
    assert_all_ways_agree(case_of("similarity-running", backbone))


RULES = [("mode", None), ("median", None), ("mean", None), ("quantile", 0.3), ("quantile", 0.9)]


@pytest.mark.parametrize("backbone", ["state", "kv-3-concat"])
@pytest.mark.parametrize(("rule", "threshold"), RULES)
@pytest.mark.parametrize("variant", ["anira-e", "anira-o"])
def test_every_selection_rule(variant: str, rule: str, threshold: float | None, backbone: str) -> None:
    case = case_of(variant, backbone, settings={"select": rule, "threshold": threshold})
    assert_all_ways_agree(case)


@pytest.mark.parametrize("backbone", ["state-add", "kv-2"])
@pytest.mark.parametrize("variant", ["anira-e", "anira-o"])
def test_sampled_depths(variant: str, backbone: str) -> None:
    case = case_of(variant, backbone)
    decided = case.parallel().exit_depth
    case.per_token["noise"] = noise_for(case.model, case.ids)
    sampled = assert_all_ways_agree(case).exit_depth
    assert depths_are_spread(case)
    assert not torch.equal(sampled, decided)


def some_depths(ids: Tensor) -> Tensor:
    depths = torch.randint(1, 6, ids.shape, generator=torch.Generator().manual_seed(7))
    assert set(depths.flatten().tolist()) == {1, 2, 3, 4, 5}
    return depths


UNSHARED = ["state", "state-add", "state-concat-random"]


@pytest.mark.parametrize("backbone", UNSHARED)
@pytest.mark.parametrize("policy", ["anira-e", "anira-o", "similarity", "gates", "gates-running"])
def test_exits_from_layers_that_are_not_shared(policy: str, backbone: str) -> None:
    """A halted token's state is projected to keys and values by every later layer."""
    config = small_config(policy, shared_core=False, **BACKBONES[backbone])
    whole = assert_all_ways_agree(spread_case(config, batch=3, padded=True))
    assert len(whole.executed.unique()) >= 3


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("backbone", ["state-add", "kv-2"])
@pytest.mark.parametrize("policy", ["anira-e", "anira-o", "similarity"])
def test_virtual_exits(policy: str, backbone: str, shared: bool) -> None:
    """Everyone runs all iterations, and each token's answer is the state at its exit, as if it alone had halted."""
    if not shared and backbone == "kv-2":
        return  # refused
    case = spread_case(small_config(policy, shared_core=shared, **BACKBONES[backbone]), settings={"exits": "virtual"})
    whole = assert_all_ways_agree(case)
    assert (whole.executed == case.max_depth).all()
    full = case.model(case.ids, exit_depth=case.max_depth, output_iteration_states=True)
    states = torch.stack(full.iteration_states)[whole.exit_depth, torch.arange(3)[:, None], torch.arange(14)]
    picked = replace_states(case, states)
    torch.testing.assert_close(whole.logits, picked, rtol=0, atol=TOLERANCE)


def replace_states(case: Case, states: Tensor) -> Tensor:
    """Return the logits of states that go through the coda."""
    model = case.model
    positions = torch.arange(states.shape[1])[None]
    rope = model.model.rope(states, positions)
    return model.lm_head(model.model.norm(run_layers(model.model.coda, states, None, rope)))


FORCED = [
    *[(variant, name) for variant in ("anira-e", "anira-o", "fixed") for name in ("state-add", "kv-2")],
    *[("gates", "state"), ("gates-running", "kv-2"), ("similarity", "kv-3"), ("unshared", "state-add")],
]


@pytest.mark.parametrize(("variant", "backbone"), FORCED)
def test_forced_depths(variant: str, backbone: str) -> None:
    case = case_of(variant, backbone)
    case.per_token["exit_depth"] = some_depths(case.ids)
    assert torch.equal(assert_all_ways_agree(case).executed, case.per_token["exit_depth"])


OWN = [(variant, name) for variant in VARIANTS if variant != "unshared" for name in ("state-add", "kv-2")]


@pytest.mark.parametrize(("variant", "backbone"), OWN)
def test_forcing_a_models_own_depths_changes_nothing(variant: str, backbone: str) -> None:
    case = case_of(variant, backbone, padded=True)
    own = case.parallel()
    case.per_token["exit_depth"] = torch.where(case.valid, own.executed, 1)
    forced = assert_all_ways_agree(case)
    torch.testing.assert_close(forced.logits[case.valid], own.logits[case.valid], rtol=0, atol=TOLERANCE)
    assert torch.equal(forced.executed[case.valid], own.executed[case.valid])


@pytest.mark.parametrize("backbone", ["state", "kv-2"])
@pytest.mark.parametrize(("variant", "max_depth"), [("anira-e", 2), ("anira-o", 2), ("fixed", 1), ("unshared", 3)])
def test_fewer_iterations_on_offer(variant: str, max_depth: int, backbone: str) -> None:
    case = case_of(variant, backbone, settings={"max_depth": max_depth})
    assert assert_all_ways_agree(case).executed.max() == max_depth


@pytest.mark.parametrize("backbone", ["state", "kv-2"])
@pytest.mark.parametrize("variant", ["anira-o", "fixed", "similarity"])
def test_more_iterations_on_offer(variant: str, backbone: str) -> None:
    case = case_of(variant, backbone, settings={"max_depth": 8})
    assert assert_all_ways_agree(case).executed.max() == 8


def in_calls_with(case: Case, budgets: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Decode with another max_depth in every call; return logits and exit depths."""
    outputs: list[AniraOutput] = []
    for ids, budget in zip(case.ids.chunk(len(budgets), dim=1), budgets, strict=True):
        past = outputs[-1].past_key_values if outputs else None
        with torch.no_grad():
            outputs.append(case.model(ids, past_key_values=past, use_cache=True, max_depth=budget))
    return torch.cat([out.logits for out in outputs], dim=1), torch.cat([out.exit_depth for out in outputs], dim=1)


BUDGETS = [
    *[("anira-e", name, budgets) for name in ("state", "kv-1-concat") for budgets in ((2, 5, 3), (5, 1, 4))],
    *[("anira-o", name, budgets) for name in ("state", "kv-1-concat") for budgets in ((2, 5, 3), (8, 5, 8))],
    *[("fixed", name, (2, 5, 3)) for name in ("state", "kv-1-concat")],
    ("fixed", "kv-1-concat", (2, 7, 5)),
    ("fixed", "kv-1-concat", (5, 8, 5)),
]


@pytest.mark.parametrize(("variant", "backbone", "budgets"), BUDGETS)
def test_max_depth_may_change_between_calls(variant: str, backbone: str, budgets: tuple[int, ...]) -> None:
    case = case_of(variant, backbone, time=12)
    logits, case.per_token["exit_depth"] = in_calls_with(case, budgets)
    case.settings["max_depth"] = max(budgets)
    torch.testing.assert_close(case.parallel().logits, logits, rtol=0, atol=TOLERANCE)


def test_a_later_call_cannot_go_deeper_than_what_was_stored() -> None:
    with pytest.raises(UserError, match="start a new cache"):
        in_calls_with(case_of("fixed", "state"), (5, 8, 5))
