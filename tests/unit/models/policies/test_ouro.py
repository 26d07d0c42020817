"""Ouro: the entropy of stage 1, the targets of stage 2, who learns what, one function in all runs."""

import math
from typing import Any

import pytest
import torch
from tests.models_support import random_ids
from tests.unit.models.policies.hazard_support import (
    DEPTH,
    assert_all_ways_agree,
    assert_decisions_are_those_made,
    assert_exit_policy,
    case_of,
    config_of,
    training_model,
)
from torch.nn.functional import cross_entropy

from anira.config import UserError
from anira.models import AniraForCausalLM
from anira.models.policies import resolve_policy

OURO: dict[str, Any] = {"name": "ouro", "beta": 0.3}
LINEAR: dict[str, Any] = {**OURO, "gate": "linear"}
gates = pytest.mark.parametrize("policy", [OURO, LINEAR], ids=["decider", "linear"])


def test_the_entropy_is_the_divergence_from_uniform_up_to_log_depth() -> None:
    """So stage 1 is PonderNet with base 1."""
    model, ids, labels = training_model(OURO)
    ponder, _, _ = training_model({"name": "pondernet", "gamma": 0.3, "base": 1.0})
    ponder.load_state_dict(model.state_dict())
    ours, theirs = model(ids, labels=labels).losses, ponder(ids, labels=labels).losses
    torch.testing.assert_close(ours["entropy"], theirs["compute"] - 0.3 * math.log(DEPTH))
    assert torch.equal(ours["ce"], theirs["ce"])
    ours["entropy"].backward()
    theirs["compute"].backward()
    torch.testing.assert_close(model.policy.decider.up.weight.grad, ponder.policy.decider.up.weight.grad)


@pytest.mark.parametrize("looks", ["back", "ahead"])
def test_stage_two_fits_going_on_to_what_iterations_gain(looks: str) -> None:
    options = {**OURO, "stage": 2, "looks": looks, "steepness": 3.0, "gain": 0.2}
    model, ids, labels = training_model(options)
    model.policy.decider.out.weight.data /= 10
    out = model(ids, labels=labels, output_iteration_states=True)
    logits = [model(ids, exit_depth=d).logits for d in range(1, DEPTH + 1)]
    ce = torch.stack([cross_entropy(x[:, :-1].mT, labels[:, 1:], reduction="none") for x in logits])
    halt = [torch.sigmoid(model.policy.decider(h)[:, :-1, 0]) for h in out.iteration_states[1:]]
    losses = []
    for t in range(2, DEPTH) if looks == "back" else range(1, DEPTH):
        step = t if looks == "back" else t + 1
        gained = (ce[step - 2] - ce[step - 1]).clamp(min=0)
        w = 1 / (1 + torch.exp(-3.0 * (gained - 0.2)))
        losses.append(-w * (1 - halt[t - 1]).log() - (1 - w) * halt[t - 1].log())
    expected = torch.stack(losses).mean(0)[labels[:, 1:] >= 0].mean()
    torch.testing.assert_close(out.losses["gate"], expected)
    assert set(out.losses) == {"ce", "gate"}


@gates
def test_each_stage_teaches_what_it_should(policy: dict[str, Any]) -> None:
    model, ids, labels = training_model(policy)
    model.policy.decider.out.weight.data /= 10
    model(ids, labels=labels).losses["ce"].backward()
    assert model.policy.decider.out.bias.grad.abs() > 1e-6  # stage 1: the expectation teaches the gate too

    model, ids, labels = training_model({**policy, "stage": 2})
    losses = model(ids, labels=labels).losses
    losses["gate"].backward(retain_graph=True)
    named = dict(model.named_parameters())
    taught = {name.split(".")[0] for name, p in named.items() if p.grad is not None and p.grad.abs().max() > 0}
    assert taught == {"policy"}
    model.zero_grad()
    losses["ce"].backward()
    assert all(p.grad is None for name, p in named.items() if name.startswith("policy."))


def test_stage_two_trains_with_a_frozen_backbone() -> None:
    model, ids, labels = training_model({**OURO, "stage": 2})
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.startswith("policy."))
    model(ids, labels=labels).loss.backward()
    assert model.policy.decider.out.weight.grad.abs().max() > 0


def test_outside_of_training_stage_two_has_no_targets() -> None:
    model, ids, labels = training_model({**OURO, "stage": 2})
    assert set(model.eval()(ids, labels=labels).losses) == {"ce"}


@gates
def test_all_executions_agree(policy: dict[str, Any]) -> None:
    case = case_of(policy)
    assert_exit_policy(case)
    assert_decisions_are_those_made(case)
    for settings in ({"exits": "virtual"}, {"threshold": 0.8}):
        case.settings = settings
        assert_all_ways_agree(case)


def test_an_unshared_core() -> None:
    assert_exit_policy(case_of(OURO, shared_core=False))


def test_the_linear_gate_costs_one_product() -> None:
    policy = AniraForCausalLM(config_of(LINEAR)).policy
    assert policy.decision_flops() == policy.float32_flops() == 2 * 16


@gates
def test_the_initial_bias_is_an_option(policy: dict[str, Any]) -> None:
    model = AniraForCausalLM(config_of({**policy, "bias": -2.5, "zero_start": True})).train()
    assert model.policy.decider.out.bias.tolist() == [-2.5]
    assert (model(random_ids(2, 6)).exit_depth == DEPTH).all()


def test_half_precision_decides_in_float32() -> None:
    model = AniraForCausalLM(config_of(LINEAR)).to(torch.bfloat16)
    assert model(random_ids(2, 6)).exit_log_probs.dtype == torch.float32


@pytest.mark.parametrize(
    "wrong", [{"stage": 3}, {"beta": -1.0}, {"steepness": 0.0}, {"gain": -1.0}, {"gate": "mlp"}], ids=str
)
def test_bad_options_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=next(iter(wrong))):
        resolve_policy({"name": "ouro", **wrong})


@pytest.mark.parametrize(("looks", "depth"), [("back", 2), ("ahead", 1)])
def test_a_second_stage_without_targets_is_refused(looks: str, depth: int) -> None:
    with pytest.raises(UserError, match="raise it"):
        AniraForCausalLM(config_of({"name": "ouro", "stage": 2, "looks": looks}, max_depth=depth))
