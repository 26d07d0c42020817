"""Mixture-of-Depths: top-k in training, a causal surrogate elsewhere, and the same numbers in every execution."""

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
from torch import Tensor

from anira.config import UserError
from anira.models import AniraForCausalLM
from anira.models.policies import Context

NAME = "mixture-of-depths"
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "every-other": {"every": 2},
    "squashed": {"squash": True},
    "predictor": {"surrogate": "predictor"},
}
BACKBONES: dict[str, dict[str, Any]] = {
    "state": {},
    "kv-2": {"num_core_layers": 2},
    "unshared-add": {"shared_core": False, "injection": "add"},
}


COMBINATIONS = [*[("plain", name) for name in BACKBONES], *[(name, "state") for name in OPTIONS if name != "plain"]]


@pytest.mark.parametrize(("options", "backbone"), COMBINATIONS)
def test_conforms(options: str, backbone: str) -> None:
    assert_conforms(various_case(config_of(NAME, OPTIONS[options], **BACKBONES[backbone]), padded=True))


def test_forced_depths_go_down_to_none() -> None:
    case = various_case(config_of(NAME))
    depths = torch.randint(0, 6, case.ids.shape, generator=torch.Generator().manual_seed(1))
    forced = Case(case.model, case.ids, per_token={"exit_depth": depths})
    assert torch.equal(assert_executions_agree(forced).executed, depths)


def context(tokens: tuple[int, ...], valid: Tensor, rows: Tensor, **extra: Any) -> Context:
    return Context(valid=valid, positions=torch.zeros(tokens, dtype=torch.long), rows=rows, max_depth=5, **extra)


def test_each_sequence_gets_its_share_padded_and_packed() -> None:
    """The first iteration reads the prelude's output, so who runs it can be recomputed by sorting scores."""
    model = model_of(NAME, {"capacity": 0.4}).train()
    lengths, generator = [9, 4, 1], torch.Generator().manual_seed(0)
    sequences = [torch.randn(length, 16, generator=generator, dtype=torch.float64) for length in lengths]
    router = model.policy.routers[0].out.weight[0].detach()
    expected = []
    for h in sequences:
        order = sorted(range(len(h)), key=lambda i: -float(h[i] @ router))
        expected += [i in order[: math.ceil(0.4 * len(h))] for i in range(len(h))]
    packed = torch.cat(sequences)[None]
    rows = torch.repeat_interleave(torch.arange(3), torch.tensor(lengths))[None]
    ctx = context((1, 14), torch.ones(1, 14, dtype=torch.bool), rows, training=True)
    assert model.policy.route(1, packed, model.policy.begin(packed, ctx)).run[0].tolist() == expected
    padded = torch.nn.utils.rnn.pad_sequence(sequences, batch_first=True, padding_value=50.0)
    valid = torch.arange(9) < torch.tensor(lengths)[:, None]
    ctx = context((3, 9), valid, torch.arange(3)[:, None].expand(3, 9), training=True)
    run = model.policy.route(1, padded, model.policy.begin(padded, ctx)).run
    assert run[valid].tolist() == expected
    assert not run[~valid].any()


@pytest.mark.parametrize("surrogate", ["auxiliary", "predictor"])
def test_training_is_the_same_packed_and_padded(surrogate: str) -> None:
    model = model_of(NAME, {"surrogate": surrogate}).train()
    ids, lengths = random_ids(3, 9), torch.tensor([9, 4, 6])
    valid = torch.arange(9) < lengths[:, None]
    labels = ids.masked_fill(~valid, -100)
    padded = model(ids, valid_mask=valid, labels=labels)
    packed = model(ids[valid][None], lengths=lengths, labels=labels[valid][None])
    assert padded.executed[valid].tolist() == packed.executed[0].tolist()
    assert (padded.executed[~valid] == 0).all()
    for name in ("ce", "surrogate"):
        torch.testing.assert_close(padded.losses[name], packed.losses[name], rtol=0, atol=1e-9)
    shares = [math.ceil(0.5 * int(length)) * 5 for length in lengths]
    assert padded.executed.sum(1).tolist() == shares


@pytest.mark.parametrize("surrogate", ["auxiliary", "predictor"])
def test_the_surrogate_finds_the_top_k_where_scores_are_far_apart(surrogate: str) -> None:
    """Half of the tokens have a score above 0 and the other half one below."""
    model = model_of(NAME, {"surrogate": surrogate})
    policy = model.policy
    with torch.no_grad():
        h = torch.randn(2, 10, 16, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        h = h - h.mean(-1, keepdim=True)  # as the predictor's norm does
        direction = torch.ones(16, dtype=torch.float64)
        direction[::2] = -1
        side = (torch.arange(10) % 2 * 2 - 1)[None, :, None]
        h = h - (h @ direction)[..., None] * direction / 16 + side * direction
        policy.routers[0].out.weight.copy_(direction[None])
        if surrogate == "predictor":
            _, up, _ = policy.predictors[0].hidden
            up.weight.copy_(torch.stack([direction, -direction, direction, -direction]))
            policy.predictors[0].out.weight.copy_(torch.tensor([[1.0, -1.0, 1.0, -1.0]]))
            policy.predictors[0].out.bias.zero_()
    valid, rows = torch.ones(2, 10, dtype=torch.bool), torch.arange(2)[:, None].expand(2, 10)
    runs = []
    for training in (True, False):
        ctx = context((2, 10), valid, rows, training=training, threshold=0.5)
        runs.append(policy.route(1, h, policy.begin(h, ctx)).run)
    assert torch.equal(*runs)
    assert runs[0].sum(1).tolist() == [5, 5]


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


def test_a_higher_threshold_runs_less() -> None:
    case = various_case(config_of(NAME))
    means = [case.parallel(threshold=threshold).executed.double().mean() for threshold in (0.0, 0.2, 0.5, 0.8, 1.0)]
    assert means == sorted(means, reverse=True)
    assert (means[0], means[-1]) == (5, 0)


@pytest.mark.parametrize("options", OPTIONS)
def test_gradient_reaches_every_router(options: str) -> None:
    model = model_of(NAME, OPTIONS[options])
    out = training_loss(model)
    assert set(out.losses) == {"ce", "surrogate"}
    assert all(parameter.grad is not None and parameter.grad.abs().max() > 0 for parameter in model.policy.parameters())


def test_without_its_own_loss_the_router_learns_from_the_gate_alone() -> None:
    for options in ({"coefficient": 0.0}, {"coefficient": 0.0, "surrogate": "predictor"}):
        model = model_of(NAME, options)
        training_loss(model)
        assert all(router.out.weight.grad.abs().max() > 0 for router in model.policy.routers)
    assert all(not parameter.grad.any() for parameter in model.policy.predictors.parameters())


def test_the_predictor_leaves_the_rest_alone() -> None:
    grads = []
    for coefficient in (0.0, 5.0):
        model = model_of(NAME, {"surrogate": "predictor", "coefficient": coefficient})
        training_loss(model)
        grads.append([p.grad for name, p in model.named_parameters() if "predictors" not in name])
    torch.testing.assert_close(*grads, rtol=0, atol=1e-12)


def test_the_imitation_loss_by_hand() -> None:
    model = model_of(NAME, max_depth=1)
    ids = random_ids(2, 8)
    out = model.train()(ids, labels=ids, output_iteration_states=True)
    score = model.policy.routers[0](out.iteration_states[0])[..., 0]
    sign = torch.where(out.executed > 0, 1.0, -1.0)
    by_hand = 0.01 * torch.log1p(torch.exp(-sign * score)).mean()
    torch.testing.assert_close(out.losses["surrogate"], by_hand)
    moved = out.iteration_states[1] - out.iteration_states[0]
    assert (moved.abs().amax(-1) > 0).tolist() == (out.executed > 0).tolist()


def test_costs() -> None:
    model = model_of(NAME, {"every": 2})
    assert model.policy.decision_flops() == 2 * 16
    assert model.policy.num_decisions(torch.tensor([0, 5]), 5).tolist() == [2, 2]
    assert model_of(NAME, {"surrogate": "predictor"}).policy.decision_flops() == 2 * 16 + 2 * 16 * 4 + 2 * 4


BAD = [({"capacity": 0.0}, "capacity"), ({"capacity": 1.5}, "capacity"), ({"every": 0}, "every")]


@pytest.mark.parametrize(("options", "message"), [*BAD, ({"coefficient": -1.0}, "coefficient")])
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        config_of(NAME, options)


def test_something_must_be_routed() -> None:
    with pytest.raises(UserError, match="routes none of 5 iterations"):
        AniraForCausalLM(config_of(NAME, {"every": 6}))
