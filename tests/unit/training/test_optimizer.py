"""Muon for matrices beside AdamW: who trains what, steps that are left out, and the rates."""

import dataclasses

import pytest
import torch
from tests.training_support import tiny_config

from anira.config import UserError
from anira.models import AniraForCausalLM
from anira.training.loop import learning_rate
from anira.training.optimizer import JointOptimizer, make_optimizer


def made(**changes):
    config = tiny_config("mano-anira-o-smoke", {"injection": "concat-linear"}, learning_rate=5e-5, **changes)
    model = AniraForCausalLM(config.model_config())
    optimizer, rates = make_optimizer(config, model)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter) * torch.arange(parameter.numel()).view_as(parameter).sin()
    return model, optimizer, rates


def test_muon_trains_matrices_and_adamw_the_rest():
    model, optimizer, rates = made(muon_rate=1e-3)
    assert isinstance(optimizer, JointOptimizer) and rates == [pytest.approx(20.0), 1.0]
    optimizer.step()
    kinds = {name: set(optimizer.state[parameter]) for name, parameter in model.named_parameters()}
    muon = {name for name, keys in kinds.items() if keys == {"momentum_buffer"}}
    assert {"model.adapter.weight", "model.core.0.mlp.up_proj.weight"} <= muon
    others = {"model.embed_tokens.weight", "lm_head.weight", "model.norm.weight"}
    assert others <= {name for name, keys in kinds.items() if keys == {"step", "exp_avg", "exp_avg_sq"}}
    assert not any("policy" in name or "norm" in name for name in muon)


def test_it_is_what_torch_does_to_each_part():
    (model, optimizer, _), (twin, _, _) = (made(muon_rate=1e-3) for _ in range(2))
    twin.load_state_dict(model.state_dict())
    names = dict(twin.named_parameters())
    matrices = set(optimizer.param_groups[0]["params"])
    chosen = {name for name, parameter in model.named_parameters() if parameter in matrices}
    optimizer.step()
    torch.optim.Muon([names[name] for name in chosen], lr=1e-3, weight_decay=0.0).step()
    rest = [parameter for name, parameter in names.items() if name not in chosen]
    torch.optim.AdamW(rest, lr=5e-5, weight_decay=0.0, fused=True).step()
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, names[name]), name


def test_a_step_that_is_not_finite_is_left_out():
    model, optimizer, _ = made(muon_rate=1e-3)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    optimizer.found_inf = torch.tensor(1.0)
    optimizer.step()
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert not optimizer.state
    optimizer.zero_grad()
    assert all(parameter.grad is None for parameter in model.parameters())


def test_nothing_for_muon_is_refused():
    config = tiny_config("mano-anira-o-smoke", frozen="backbone", muon_rate=1e-3)
    model = AniraForCausalLM(config.model_config())
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.startswith("policy."))
    with pytest.raises(UserError, match="muon_rate needs matrices"):
        make_optimizer(config, model)


def test_the_rate_falls_over_the_last_share_of_the_steps():
    config = tiny_config(steps=100, warmup_steps=10, learning_rate=1.0, schedule="linear", decay_share=0.6)
    rates = [learning_rate(config, step) for step in range(1, 101)]
    assert rates[9:40] == [1.0] * 31
    assert rates[-1] == pytest.approx(1 / 61) and rates[39] > rates[40]
    whole = dataclasses.replace(config, decay_share=1.0)
    assert learning_rate(whole, 11) == (100 + 1 - 11) / (100 + 1 - 10)
