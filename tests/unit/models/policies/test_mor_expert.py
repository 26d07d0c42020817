"""Mixture-of-Recursions by expert choice: nested top-k in training, a nested surrogate elsewhere."""

import math
from typing import Any

import pytest
import torch
from tests.models_support import Case, random_ids
from tests.routing_support import (
    assert_conforms,
    assert_executions_agree,
    config_of,
    model_of,
    training_loss,
    various_case,
)

from anira.config import UserError
from anira.models import AniraForCausalLM
from anira.models.policies import Context, Route

NAME = "mor-expert"
BACKBONES: dict[str, dict[str, Any]] = {
    "state": {},
    "kv-2": {"num_core_layers": 2},
    "unshared-add": {"shared_core": False, "injection": "add"},
}


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("keys", ["recursion", "all"])
def test_conforms(keys: str, backbone: str) -> None:
    assert_conforms(various_case(config_of(NAME, {"keys": keys, "alpha": 0.5}, **BACKBONES[backbone]), padded=True))


@pytest.mark.parametrize("keys", ["recursion", "all"])
def test_virtual_exits_and_fewer_iterations(keys: str) -> None:
    for settings in ({"exits": "virtual"}, {"max_depth": 3}):
        assert_executions_agree(various_case(config_of(NAME, {"keys": keys}), **settings))


@pytest.mark.parametrize("capacities", [(), (1.0, 0.5, 0.5, 0.3, 0.1)])
def test_choices_are_nested_and_have_their_size(capacities: tuple[float, ...]) -> None:
    """A token that ran d iterations was among the best of each of the first d: so many have at least that depth."""
    model = model_of(NAME, {"capacities": capacities}).train()
    ids, lengths = random_ids(4, 11), torch.tensor([11, 4, 7, 1])
    valid = torch.arange(11) < lengths[:, None]
    out = model(ids, valid_mask=valid, labels=ids.masked_fill(~valid, -100), output_iteration_states=True)
    shares = capacities or (1.0, 0.8, 0.6, 0.4, 0.2)
    for row, length in enumerate(lengths.tolist()):
        own = out.executed[row, :length]
        for d, share in enumerate(shares, start=1):
            assert int((own >= d).sum()) == math.ceil(share * length - 1e-9)
    assert (out.executed[~valid] == 0).all()
    assert torch.equal(out.executed, out.exit_depth)
    for d in range(2, 6):  # against a plain sort of the scores of those who were there
        scores = model.policy.routers[d - 1](out.iteration_states[d - 1])[..., 0]
        for row in range(4):
            there = [i for i in range(11) if out.executed[row, i] >= d - 1]
            best = sorted(there, key=lambda i: -scores[row, i].item())[: int((out.executed[row] >= d).sum())]
            assert sorted(best) == (out.executed[row] >= d).nonzero()[:, 0].tolist()
    packed = model(ids[valid][None], lengths=lengths, labels=ids[valid][None])
    assert packed.executed[0].tolist() == out.executed[valid].tolist()
    torch.testing.assert_close(packed.loss, out.loss, rtol=0, atol=1e-9)


def test_the_surrogate_is_nested_too() -> None:
    case = various_case(config_of(NAME))
    out = case.parallel(output_iteration_states=True)
    alive = torch.ones_like(out.executed, dtype=torch.bool)
    count = alive.long()
    for d in range(2, 6):
        alive &= case.model.policy.routers[d - 1](out.iteration_states[d - 1])[..., 0] > 0
        count += alive
    assert torch.equal(out.executed, count)


def test_the_surrogate_finds_the_top_k_where_scores_are_far_apart() -> None:
    """Scores are the rank of a token's first coordinate against the next capacity: they do not change with depth."""
    model = model_of(NAME, {"alpha": 1e-9})
    ids = random_ids(1, 10)
    with torch.no_grad():
        out = model(ids, output_iteration_states=True)
        h0 = out.iteration_states[0][0]
        for d in range(2, 6):
            target = torch.where(torch.arange(10) < 2 * (6 - d), 4.0, -4.0).double()
            solved = torch.linalg.lstsq(h0, target[:, None]).solution[:, 0]
            torch.testing.assert_close(h0 @ solved, target)
            model.policy.routers[d - 1].out.weight.copy_(solved[None])
        decided, chosen = (model.train(training)(ids).executed for training in (False, True))
    assert torch.equal(decided, chosen)
    assert decided[0].tolist() == [5, 5, 4, 4, 3, 3, 2, 2, 1, 1]


def test_the_whole_block_is_added_scaled_by_the_gate() -> None:
    policy = model_of(NAME).policy
    h, candidate = torch.randn(2, 4, 16, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    run = torch.tensor([True, False, True, False])
    case = various_case(config_of(NAME))
    state = policy.begin(h, _context(4))
    gate = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)
    after = policy.update(1, h, candidate, Route(run, gate=gate), state)
    assert torch.equal(after[~run], h[~run])
    torch.testing.assert_close(after[run], (h + gate[:, None] * candidate)[run])
    score = case.model.policy.routers[0](h)[..., 0]
    torch.testing.assert_close(case.model.policy.route(1, h, state).gate, 0.1 / (1 + torch.exp(-score)))


def _context(tokens: int) -> Context:
    zeros = torch.zeros(tokens, dtype=torch.long)
    return Context(valid=zeros == 0, positions=zeros, rows=zeros, max_depth=5)


def test_the_loss_by_hand() -> None:
    model = model_of(NAME)
    ids = random_ids(2, 10)
    out = model.train()(ids, labels=ids, output_iteration_states=True)
    total = torch.zeros((), dtype=torch.float64)
    for d in range(2, 6):
        score = model.policy.routers[d - 1](out.iteration_states[d - 1])[..., 0]
        wrong = torch.log1p(torch.exp(torch.where(out.executed >= d, -score, score)))
        total += wrong[out.executed >= d - 1].sum()
    torch.testing.assert_close(out.losses["surrogate"], 0.001 * total / 4 / 20)


def test_gradient_reaches_every_router() -> None:
    for options in ({}, {"coefficient": 0.0}):
        model = model_of(NAME, options)
        training_loss(model)
        assert all(router.out.weight.grad.abs().max() > 0 for router in model.policy.routers)


def test_training_looks_ahead_and_decoding_does_not() -> None:
    case = various_case(config_of(NAME))
    changed = case.ids.clone()
    changed[:, -4:] = changed[:, -4:] % 19 + 1
    same = []
    for training in (False, True):
        case.model.train(training)
        one, other = (case.model(ids).executed[:, :-4] for ids in (case.ids, changed))
        same.append(torch.equal(one, other))
    assert same == [True, False]


def test_decisions_are_counted() -> None:
    case: Case = various_case(config_of(NAME))
    assert case.model.policy.decision_flops() == 32
    assert case.model.policy.num_decisions(torch.tensor([1, 4, 5]), 5).tolist() == [2, 5, 5]


BAD = [
    ({"capacities": (0.5, 0.5)}, "begin with 1"),
    ({"capacities": (1.0, 0.5, 0.6, 0.2, 0.1)}, "never rise"),
    ({"alpha": 0.0}, "alpha"),
    ({"coefficient": -1.0}, "coefficient"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        config_of(NAME, options)


def test_capacities_are_one_for_each_iteration() -> None:
    with pytest.raises(UserError, match="capacities must be 5"):
        AniraForCausalLM(config_of(NAME, {"capacities": (1.0, 0.5)}))
