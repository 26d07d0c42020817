"""The law of Huginn's depths, and truncated back-propagation: its gradient and what it saves."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from tests.unit.models.policies.criteria_support import config_of, training_batch
from torch import Tensor

from anira.config import UserError
from anira.models import AniraForCausalLM
from anira.models.noise import step_noise
from anira.models.policies import ComputePolicy


def policy_of(max_depth: int = 5, **options: Any) -> ComputePolicy:
    return AniraForCausalLM(config_of({"name": "huginn", **options}, max_depth=max_depth)).policy


def law(mean: float, spread: float, most: int) -> np.ndarray:
    """Return P(1 + Poisson(exp(tau)) = 1, 2, ..., most), by quadrature over tau."""
    x, weights = np.polynomial.hermite_e.hermegauss(120)
    rates = np.exp(math.log(mean) - spread**2 / 2 + spread * x)
    terms = stats.poisson.pmf(np.arange(most)[:, None], rates)
    return terms @ (weights / weights.sum())


def shares(policy: ComputePolicy) -> np.ndarray:
    """Return the shares of depths over pairs of numbers that fill the square evenly (a lattice of irrational slope)."""
    pairs = np.modf((np.arange(20_000)[:, None] + 0.5) * [0.7548776662466927, 0.5698402909980532])[0]
    drawn = [policy.depth_for_step(pair, 0.0) for pair in torch.from_numpy(pairs)]
    return np.bincount(drawn, minlength=policy.cap + 1)[1:] / len(drawn)


@pytest.mark.parametrize(("mean", "spread"), [(5.0, 0.5), (2.5, 0.5), (3.0, 0.0)])
def test_depths_follow_the_law_up_to_the_cap(mean: float, spread: float) -> None:
    found = shares(policy_of(mean_depth=mean, spread=spread))
    expected = law(mean, spread, 10)
    expected[-1] = 1 - expected[:-1].sum()  # what lies beyond is run at the cap
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_before_the_cap_the_mean_is_one_more_than_the_rates() -> None:
    policy = policy_of(max_depth=40, mean_depth=5.0)
    found = shares(policy)
    assert found @ np.arange(1, 81) == pytest.approx(6.0, abs=0.02)
    # The variance of a Poisson mixture is that of the rate, and its mean on top.
    deviation = found @ (np.arange(1, 81) - 6.0) ** 2
    assert deviation == pytest.approx(5 + 25 * math.expm1(0.25), rel=0.02)


def test_an_independent_simulation_gives_the_same() -> None:
    rng = np.random.default_rng(0)
    rates = rng.lognormal(math.log(5) - 0.125, 0.5, 40_000)
    drawn = np.minimum(rng.poisson(rates) + 1, 10)
    simulated = np.bincount(drawn, minlength=11)[1:] / len(drawn)
    np.testing.assert_allclose(shares(policy_of()), simulated, atol=0.01)


def test_steps_of_a_run_differ_and_repeat() -> None:
    policy = policy_of()
    depths = [policy.depth_for_step(step_noise(seed=3, step=step, width=2), 0.0) for step in range(200)]
    again = [policy.depth_for_step(step_noise(seed=3, step=step, width=2), 0.0) for step in range(200)]
    assert depths == again and set(depths) == set(range(1, 11))


def test_layers_that_are_not_shared_end_at_max_depth() -> None:
    model = AniraForCausalLM(config_of("huginn", shared_core=False))
    assert model.policy.depth_for_step(torch.tensor([0.999, 0.999]), 0.0) == 5
    assert policy_of().depth_for_step(torch.tensor([0.999, 0.999]), 0.0) == 10


def test_a_training_step_runs_the_depth_that_was_drawn() -> None:
    model = AniraForCausalLM(config_of("huginn")).train()
    for step in range(3):
        noise = step_noise(seed=0, step=step, width=2)
        out = model(**training_batch(model), step_noise=noise)
        assert (out.executed == model.policy.depth_for_step(noise, 0.0)).all()
        assert list(out.losses) == ["ce"]


BACKBONES = [{"injection": "add"}, {"injection": "none"}, {"num_core_layers": 2, "injection": "concat-linear"}]


def reference_loss(model: AniraForCausalLM, batch: dict[str, Tensor], depth: int, last: int) -> Tensor:
    """Compute the same loss by hand, with the state cut off before the last iterations."""
    backbone = model.model
    h0 = x = backbone.embed_tokens(batch["input_ids"])
    positions = torch.arange(x.shape[1])[None].expand(x.shape[:2])
    rope = backbone.rope(x, positions)
    mask = None
    for layer in backbone.prelude:
        h0 = layer(h0, attention_mask=mask, position_embeddings=rope)
    h = h0
    for d in range(1, depth + 1):
        x = backbone.inject(h, h0)
        for layer in backbone.core_layers(d):
            x = layer(x, attention_mask=mask, position_embeddings=rope)
        h = x.detach() if d == depth - last else x
    for layer in backbone.coda:
        h = layer(h, attention_mask=mask, position_embeddings=rope)
    logits = model.lm_head(backbone.norm(h))
    return torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), batch["labels"][:, 1:].flatten())


@pytest.mark.parametrize("backbone", BACKBONES, ids=["add", "none", "two-layers"])
@pytest.mark.parametrize("last", [1, 3, 7])
def test_the_gradient_is_that_of_a_graph_cut_off(backbone: dict[str, Any], last: int) -> None:
    torch.manual_seed(0)
    model = AniraForCausalLM(config_of({"name": "huginn", "last": last}, initializer_range=0.3, **backbone))
    model = model.double().train()
    batch = training_batch(model)
    model(**batch, max_depth=7).loss.backward()
    found = {name: parameter.grad for name, parameter in model.named_parameters()}
    model.zero_grad()
    reference_loss(model, batch, 7, last).backward()
    for name, parameter in model.named_parameters():
        assert (found[name] is None) == (parameter.grad is None), name
        if parameter.grad is not None:
            torch.testing.assert_close(found[name], parameter.grad, rtol=1e-9, atol=1e-12)
    starved = found["model.embed_tokens.weight"] is None
    assert starved == (backbone["injection"] == "none" and last < 7)


def saved_bytes(model: AniraForCausalLM, batch: dict[str, Tensor], depth: int) -> int:
    """Return how many bytes a training step keeps for its backward pass."""
    sizes: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        kept.append(tensor)  # so that no other tensor can get the same address
        return tensor

    kept: list[Tensor] = []
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        model(**batch, max_depth=depth)
    return sum(sizes.values())


def test_what_is_kept_for_the_backward_pass_falls_with_the_iterations_that_carry_gradient() -> None:
    sizes = {}
    for last in (1, 2, 4, 8):
        model = AniraForCausalLM(config_of({"name": "huginn", "last": last}, injection="add")).train()
        sizes[last] = saved_bytes(model, training_batch(model), 8)
    per_iteration = (sizes[8] - sizes[4]) / 4
    assert per_iteration > 0
    assert (sizes[4] - sizes[2]) / 2 == pytest.approx(per_iteration, rel=0.05)
    assert sizes[2] - sizes[1] == pytest.approx(per_iteration, rel=0.05)
    # And it does not grow with depth, if the iterations that carry gradient stay the same.
    model = AniraForCausalLM(config_of({"name": "huginn", "last": 2}, injection="add")).train()
    assert saved_bytes(model, training_batch(model), 10) == pytest.approx(sizes[2], rel=0.02)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"mean_depth": 0.0}, "mean_depth"), ({"spread": -0.1}, "spread"), ({"last": 0}, "nothing is learned")],
)
def test_nonsense_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        policy_of(**options)


def test_the_mean_depth_rises_over_the_ramp() -> None:
    """As 1 - sqrt(1 - x), in whole numbers: slowly at first."""
    policy, middle = policy_of(8, ramp=0.75, spread=0.0), torch.tensor([0.5, 0.5])
    depths = [policy.depth_for_step(middle, progress) for progress in (0.0, 0.2, 0.375, 0.6, 0.74, 0.75, 1.0)]
    assert depths == sorted(depths)
    assert [depths[0], depths[-2]] == [2, policy_of(8, spread=0.0).depth_for_step(middle, 1.0)]
    means = [policy._mean_depth(progress) for progress in (0.0, 0.375, 0.5625, 0.75)]
    assert means == [1.0, math.ceil(8 * (1 - math.sqrt(0.5))), 4.0, 8.0]
    with pytest.raises(UserError, match="ramp must lie in"):
        policy_of(ramp=1.5)


def test_a_configuration_without_a_ramp_is_stored_as_before() -> None:
    assert "ramp" not in config_of({"name": "huginn"}, max_depth=5).policy
