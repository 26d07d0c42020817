"""Where a policy leaves no choice, it equals a model without one, to the last bit."""

from typing import Any

import pytest
import torch
from tests.models_support import Case, noise_for, random_ids, random_model, small_config

from anira.models import AniraForCausalLM

BACKBONES: list[dict[str, Any]] = [
    {},
    {"num_core_layers": 2, "injection": "add"},
    {"freeze": "kv", "injection": "concat-linear", "initial_state": "random"},
]
on_backbones = pytest.mark.parametrize("backbone", BACKBONES)


def decided(policy: str, backbone: dict[str, Any], logits: torch.Tensor) -> AniraForCausalLM:
    """Return a model whose decider gives every token these logits."""
    model = random_model(small_config(policy, **backbone))
    with torch.no_grad():
        model.policy.decider.out.weight.zero_()
        model.policy.decider.out.bias.copy_(logits)
    return model


def undecided_twin(model: AniraForCausalLM, backbone: dict[str, Any]) -> AniraForCausalLM:
    twin = random_model(small_config("fixed", **backbone), seed=1)
    left_over = twin.load_state_dict(model.state_dict(), strict=False)
    assert not left_over.missing_keys
    return twin


def one_hot(depth: int) -> torch.Tensor:
    return 200.0 * (torch.arange(1, 6) == depth)


# The decider's logits, and the depth that they leave.
EXTREMES = [
    ("anira-o", torch.tensor([-200.0]), 5),
    ("anira-o", torch.tensor([200.0]), 1),
    *[("anira-e", one_hot(depth), depth) for depth in range(1, 6)],
]


@on_backbones
@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize(("policy", "logits", "depth"), EXTREMES)
def test_certain_deciders_equal_a_forced_depth(
    policy: str, logits: torch.Tensor, depth: int, sampled: bool, backbone: dict[str, Any]
) -> None:
    model, ids = decided(policy, backbone, logits), random_ids(3, 12)
    noise = noise_for(model, ids) if sampled else None
    free, forced = model.train(sampled)(ids, noise=noise), undecided_twin(model, backbone)(ids, exit_depth=depth)
    assert torch.equal(free.logits, forced.logits)
    assert (free.exit_depth == depth).all()
    assert (free.executed == depth).all()


@on_backbones
def test_hazards_of_nothing_equal_the_fixed_policy(backbone: dict[str, Any]) -> None:
    model, ids = decided("anira-o", backbone, torch.tensor([-200.0])), random_ids(3, 12)
    fixed = undecided_twin(model, backbone)
    assert torch.equal(model(ids).logits, fixed(ids).logits)
    assert torch.equal(Case(model, ids).one_by_one().logits, Case(fixed, ids).one_by_one().logits)


@pytest.mark.parametrize("policy", ["anira-e", "anira-o"])
def test_the_fixed_policy_is_a_forced_depth(policy: str) -> None:
    model, ids = decided(policy, {}, torch.zeros(5 if policy == "anira-e" else 1)), random_ids(2, 9)
    fixed = undecided_twin(model, {})
    assert torch.equal(model(ids, exit_depth=5).logits, fixed(ids).logits)
    assert torch.equal(model(ids, exit_depth=3).logits, fixed(ids, max_depth=3).logits)


def test_an_unshared_core_with_equal_layers_is_the_shared_one() -> None:
    shared = random_model(small_config("fixed", num_core_layers=2))
    unshared = random_model(small_config("fixed", num_core_layers=2, shared_core=False), seed=1)
    weights = shared.state_dict()
    for name in list(weights):
        if name.startswith("model.core."):
            _, _, layer, rest = name.split(".", 3)
            weights |= {f"model.core.{int(layer) + 2 * i}.{rest}": weights[name] for i in range(5)}
    unshared.load_state_dict(weights)
    assert torch.equal(shared(random_ids(2, 9)).logits, unshared(random_ids(2, 9)).logits)
