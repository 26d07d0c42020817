"""ANIRA-O can imitate an ANIRA-E policy (paper, section 4), built.

The paper argues: let the recurrent blocks be identities, and let the halting decider answer 1{d >= d*}, where d* is the
depth that the early decider would have chosen from h(0). But a halting decider is not told d: on an identity core
it sees the same state at every depth, and its hazard is the same at all of them. So the core here is the identity
on all channels but one, a counter, to which every iteration adds 1.

- The prelude has random weights and writes, into the channel TARGET, a number t that depends on the context.
- The early decider gives depth j the logit j t - j^2 / 2, whose argmax is the depth nearest to t.
- The halting decider gives the logit d + 1/2 - t, whose sign is that of "d is the nearest depth, or beyond it".

Both are linear in the state, up to the positive factor by which the deciders' LayerNorm divides: the coefficients add
up to zero, so that its mean drops out. And silu(x) - silu(-x) = x makes a linear map of two hidden units.
"""

from dataclasses import replace

import pytest
import torch
from tests.models_support import Case, depths_are_spread, random_ids, random_model, small_config
from torch import Tensor

from anira.models import AniraForCausalLM

TARGET, ONE, ZERO, COUNTER = range(4)
CERTAIN = 1e8  # makes hazards 0 or 1


def linear_map(model: AniraForCausalLM, maps: list[dict[int, float]], out: Tensor) -> None:
    """Let the decider's logits be `out` times these linear functions (coefficients by channel) of its input."""
    decider = model.policy.decider
    decider.up.weight.zero_()
    decider.out.weight.zero_()
    for i, coefficients in enumerate(maps):
        assert sum(coefficients.values()) == 0
        for sign in (1, -1):
            unit = 2 * i + (sign < 0)
            for channel, coefficient in coefficients.items():
                decider.up.weight[unit, channel] = sign * coefficient
            decider.out.weight[:, unit] = sign * CERTAIN * out[:, i]


@torch.no_grad()
def count_in_the_core(model: AniraForCausalLM) -> None:
    """Leave prelude and coda random, but for four channels; let the core do nothing but count."""
    body = model.model
    body.embed_tokens.weight[:, TARGET] = 3 + 8 * body.embed_tokens.weight[:, TARGET]
    for channel, value in ((ONE, 1.0), (ZERO, 0.0), (COUNTER, 0.0)):
        body.embed_tokens.weight[:, channel] = value
    for layer in body.prelude:
        for projection in (layer.self_attn.o_proj, layer.mlp.down_proj):
            projection.weight[[ONE, ZERO, COUNTER]] = 0
            projection.weight[TARGET] *= 0.3
    (core,) = body.core
    core.self_attn.o_proj.weight.zero_()
    core.mlp.down_proj.weight.zero_()
    core.mlp.down_proj.bias[COUNTER] = 1


@torch.no_grad()
def early(seed: int) -> AniraForCausalLM:
    model, depth = random_model(small_config("anira-e", mlp_bias=True), seed), torch.arange(1.0, 6.0)
    count_in_the_core(model)
    linear_map(model, [{TARGET: 1, ZERO: -1}, {ONE: 1, ZERO: -1}], torch.stack([depth, -(depth**2) / 2], dim=1))
    return model


@torch.no_grad()
def online_twin(imitated: AniraForCausalLM) -> AniraForCausalLM:
    model = random_model(small_config("anira-o", mlp_bias=True))
    model.model.load_state_dict(imitated.model.state_dict())
    model.lm_head.load_state_dict(imitated.lm_head.state_dict())
    linear_map(model, [{COUNTER: 1, TARGET: -1, ONE: 0.5, ZERO: -0.5}], torch.ones(1, 1))
    return model


@pytest.mark.parametrize("seed", range(5))
def test_online_halting_imitates_an_early_decision(seed: int) -> None:
    ids = random_ids(4, 16, seed)
    one = Case(early(seed), ids)
    other = replace(one, model=online_twin(one.model))
    assert depths_are_spread(one)
    h0 = one.parallel(output_iteration_states=True).iteration_states[0]
    assert torch.equal(one.parallel().exit_depth, h0[..., TARGET].round().clamp(1, 5).long())
    for imitated, imitating in ((one.parallel(), other.parallel()), (one.one_by_one(), other.one_by_one())):
        assert torch.equal(imitated.executed, imitating.executed)
        torch.testing.assert_close(imitated.logits, imitating.logits, rtol=0, atol=1e-9)


@pytest.mark.parametrize("rule", ["mode", "median", "mean"])
def test_every_rule_imitates_as_the_hazards_are_certain(rule: str) -> None:
    model, ids = early(0), random_ids(4, 16)
    depths = [each(ids, select=rule).exit_depth for each in (model, online_twin(model))]
    assert torch.equal(*depths)


def test_without_the_counter_a_certain_hazard_knows_only_the_first_and_the_last_depth() -> None:
    model = online_twin(early(0))
    model.model.core[0].mlp.down_proj.bias.data.zero_()
    assert set(model(random_ids(4, 16)).exit_depth.flatten().tolist()) == {1, 5}
