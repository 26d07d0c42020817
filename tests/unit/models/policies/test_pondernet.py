"""PonderNet: the expectation of the losses, ANIRA-O's divergence, exits as ANIRA-O's, one function in all runs."""

from typing import Any

import pytest
import torch
from tests.models_support import noise_for, random_ids, random_model
from tests.unit.models.policies.hazard_support import (
    DEPTH,
    assert_all_ways_agree,
    assert_decisions_are_those_made,
    assert_exit_policy,
    case_of,
    config_of,
    labelled,
    training_model,
)
from torch.nn.functional import cross_entropy

from anira.config import UserError
from anira.models import AniraForCausalLM, AniraOutput, exits
from anira.models.policies import resolve_policy

PONDER: dict[str, Any] = {"name": "pondernet", "gamma": 0.3, "base": 1.5}


def at_depth(model: AniraForCausalLM, ids: torch.Tensor, depth: int) -> AniraOutput:
    """Return the model at one depth for all tokens, as the unrolled graph reads out one of its states."""
    return model(ids, exit_depth=depth)


def test_the_loss_is_the_expectation_over_depths_and_the_divergence_that_of_the_prior() -> None:
    model, ids, labels = training_model(PONDER)
    model.policy.decider.out.weight.data /= 5
    out = model(ids, labels=labels)
    q = out.exit_log_probs.exp()
    logits = [at_depth(model, ids, d).logits for d in range(1, DEPTH + 1)]
    ce = torch.stack([cross_entropy(x[:, :-1].mT, labels[:, 1:], reduction="none") for x in logits], -1)
    expected = (q[:, :-1] * ce).sum(-1)[labels[:, 1:] >= 0].mean()
    torch.testing.assert_close(out.losses["ce"], expected)
    prior = torch.tensor([1.5**-d for d in range(1, DEPTH + 1)]).double()
    kl = (q * (q / (prior / prior.sum())).log()).sum(-1).mean()
    torch.testing.assert_close(out.losses["compute"], 0.3 * kl)


def test_the_prior_is_geometric_with_lambda_one_minus_one_over_base() -> None:
    base, rate = 1.25, 0.2
    geometric = torch.tensor([rate * (1 - rate) ** (d - 1) for d in range(1, DEPTH + 1)])
    torch.testing.assert_close(exits.log_prior(DEPTH, base, geometric).exp(), geometric / geometric.sum())


def test_with_the_same_hazards_the_divergence_is_that_of_the_online_decider() -> None:
    """Without noise and at forced full depth both have the hazards of the same states."""
    model, ids, labels = training_model(PONDER)
    online = random_model(config_of({"name": "anira-o", "gamma": 0.3, "base": 1.5})).eval()
    online.load_state_dict(model.state_dict())
    ours, theirs = model(ids, labels=labels), online(ids, labels=labels, exit_depth=DEPTH)
    assert torch.equal(ours.exit_log_probs, theirs.exit_log_probs)
    assert torch.equal(ours.losses["compute"], theirs.losses["compute"])
    ours.losses["compute"].backward()
    theirs.losses["compute"].backward()
    torch.testing.assert_close(model.policy.decider.out.weight.grad, online.policy.decider.out.weight.grad)


def test_outside_of_training_it_exits_as_the_online_decider() -> None:
    ids = random_ids(3, 10)
    ponder, online = (random_model(config_of({"name": name})) for name in ("pondernet", "anira-o"))
    online.load_state_dict(ponder.state_dict())
    noise = noise_for(ponder, ids)
    for settings in ({}, {"select": "mode"}, {"select": "mean"}, {"threshold": 0.8}, {"noise": noise}):
        ours, theirs = ponder(ids, **settings), online(ids, **settings)
        assert torch.equal(ours.exit_depth, theirs.exit_depth)
        torch.testing.assert_close(ours.logits, theirs.logits, rtol=0, atol=1e-12)


@pytest.mark.parametrize("select", ["median", "mode", "mean"])
def test_the_logits_of_training_are_those_of_the_exit(select: str) -> None:
    model, ids, labels = training_model(PONDER)
    out = model(ids, labels=labels, select=select)
    assert (out.executed == DEPTH).all() and len(out.exit_depth.unique()) >= 3
    virtual = model.eval()(ids, exits="virtual", select=select)
    assert torch.equal(out.exit_depth, virtual.exit_depth)
    # The coda mixes tokens: in training those of one depth, in evaluation those of all exits.
    for depth in out.exit_depth.unique().tolist():
        same = out.exit_depth == depth
        torch.testing.assert_close(out.logits[same], at_depth(model, ids, depth).logits[same], rtol=0, atol=1e-9)


@pytest.mark.parametrize("backbone", [{}, {"num_core_layers": 2}, {"shared_core": False}], ids=str)
def test_all_executions_agree(backbone: dict[str, Any]) -> None:
    case = case_of(PONDER, **backbone)
    assert_exit_policy(case)
    assert_decisions_are_those_made(case)
    for settings in ({"exits": "virtual"}, {"select": "mode"}, {"select": "mean"}):
        case.settings = settings
        assert_all_ways_agree(case)


def test_sampled_exits_agree_too() -> None:
    case = case_of(PONDER)
    decided = case.parallel().exit_depth
    case.per_token["noise"] = noise_for(case.model, case.ids)
    assert not torch.equal(assert_all_ways_agree(case).exit_depth, decided)


def test_noise_does_not_matter_in_training() -> None:
    model, ids, labels = training_model(PONDER)
    losses = [model(ids, labels=labels, noise=noise_for(model, ids, step)).loss for step in (0, 1)]
    assert torch.equal(*losses)


def test_forced_depths_are_read_out_alone_in_training() -> None:
    model, ids, labels = training_model(PONDER)
    out = model(ids, labels=labels, exit_depth=2)
    assert torch.equal(out.logits, model.eval()(ids, exit_depth=2).logits)
    assert (out.executed == 2).all()


def test_gradient_reaches_the_decider_by_the_losses_alone() -> None:
    model, ids, labels = training_model({**PONDER, "gamma": 0.0})
    model.policy.decider.out.weight.data /= 10
    model(ids, labels=labels).loss.backward()
    assert model.policy.decider.out.bias.grad.abs() > 1e-6


def test_one_depth_has_nothing_to_decide() -> None:
    model, ids = AniraForCausalLM(config_of(PONDER, max_depth=1)).train(), random_ids(2, 6)
    out = model(ids, labels=labelled(ids))
    assert out.losses["compute"] == 0
    assert (out.exit_depth == 1).all()


@pytest.mark.parametrize("wrong", [{"gamma": -1.0}, {"base": 0.5}], ids=str)
def test_bad_options_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=next(iter(wrong))):
        resolve_policy({"name": "pondernet", **wrong})
