"""Training samples depths: their frequencies over the noise are the reported distribution."""

import numpy as np
import pytest
import torch
from scipy import stats
from tests.models_support import noise_for, random_ids, random_model, small_config

from anira.models import AniraForCausalLM, AniraOutput
from anira.models.noise import drawn_noise

ROWS = 20_000


def mild_model(policy: str, seed: int, **backbone: object) -> AniraForCausalLM:
    """Return a model in training mode whose distributions leave mass on every depth."""
    model = random_model(small_config(policy, options={}, **backbone), seed).train()
    model.policy.decider.out.weight.data /= 6
    return model


@torch.no_grad()
def sampled(model: AniraForCausalLM, step: int) -> AniraOutput:
    """Give one token to very many rows."""
    ids = torch.full((ROWS, 1), 7)
    return model(ids, noise=noise_for(model, ids, step))


def full_distribution(out: AniraOutput) -> np.ndarray:
    """Return q as the deepest rows see it: those that halt earlier report the hazard of their exit from there on."""
    deepest = out.exit_log_probs[out.executed == out.executed.max()]
    assert torch.equal(deepest, deepest[:1].expand_as(deepest))
    return deepest[0].exp().numpy()


@pytest.mark.parametrize("backbone", [{}, {"num_core_layers": 2, "injection": "add"}])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("policy", ["anira-e", "anira-o"])
def test_frequencies_follow_the_distribution(policy: str, seed: int, backbone: dict[str, object]) -> None:
    out = sampled(mild_model(policy, seed, **backbone), step=seed)
    q = full_distribution(out)
    assert q.min() > 1e-3
    observed = np.bincount(out.exit_depth.flatten(), minlength=6)[1:]
    assert stats.chisquare(observed, ROWS * q).pvalue > 1e-3
    assert stats.chisquare(observed, ROWS * q[::-1]).pvalue < 1e-9
    assert torch.equal(out.exit_depth, out.executed)


@pytest.mark.parametrize("policy", ["anira-e", "anira-o"])
def test_activity_is_on_average_the_survival(policy: str) -> None:
    out = sampled(mild_model(policy, 2), step=9)
    survival = full_distribution(out)[::-1].cumsum()[::-1]
    active = [(out.executed >= d).double().mean().item() for d in range(1, 6)]
    assert active == pytest.approx(survival, abs=4 * 0.5 / ROWS**0.5)


@pytest.mark.parametrize("policy", ["anira-e", "anira-o"])
def test_given_noise_makes_training_deterministic(policy: str) -> None:
    model, ids = mild_model(policy, 0), random_ids(4, 12)
    one, same, other = (model(ids, noise=noise_for(model, ids, step)) for step in (0, 0, 1))
    assert torch.equal(one.logits, same.logits)
    assert torch.equal(one.exit_depth, same.exit_depth)
    assert not torch.equal(one.exit_depth, other.exit_depth)


@pytest.mark.parametrize("policy", ["anira-e", "anira-o"])
def test_without_noise_training_draws_its_own(policy: str) -> None:
    """From torch's generator: a seed decides it, a restored state repeats it, two calls differ."""
    one, other = (mild_model(policy, 0) for _ in range(2))
    ids = random_ids(4, 12)
    torch.manual_seed(3)
    first, state = one(ids).exit_depth, torch.get_rng_state()
    second = one(ids).exit_depth
    assert not torch.equal(first, second)
    torch.set_rng_state(state)
    assert torch.equal(other(ids).exit_depth, second)
    torch.manual_seed(4)
    assert not torch.equal(one(ids).exit_depth, first)
    decided = one.eval()(ids).exit_depth
    assert torch.equal(decided, one(ids).exit_depth)


def test_processes_with_one_seed_draw_different_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    for rank in (0, 1):
        monkeypatch.setattr(torch.distributed, "get_rank", lambda rank=rank: rank)
        torch.manual_seed(0)
        drawn.append(drawn_noise(2, 3, 4, torch.device("cpu")))
    assert (drawn[0] != drawn[1]).all()


@pytest.mark.parametrize("policy", ["fixed", "similarity", "gates"])
def test_policies_without_noise_do_not_sample(policy: str) -> None:
    model, ids = random_model(small_config(policy)), random_ids(2, 9)
    assert model.policy.noise_width == 0
    assert torch.equal(model.train()(ids).logits, model.eval()(ids).logits)


@pytest.mark.parametrize("policy", ["anira-e", "anira-o"])
def test_a_zero_start_decides_alike_for_every_token(policy: str) -> None:
    ids = random_ids(3, 9)
    usual, zero = (AniraForCausalLM(small_config(policy, {"zero_start": start}))(ids) for start in (False, True))
    assert torch.equal(zero.exit_log_probs, zero.exit_log_probs[:1, :1].expand_as(zero.exit_log_probs))
    assert not torch.equal(usual.exit_log_probs, usual.exit_log_probs[:1, :1].expand_as(usual.exit_log_probs))
