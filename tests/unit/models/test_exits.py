import math
from typing import get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import logsigmoid

from anira.models import exits

quick = settings(deadline=None)
bases = pytest.mark.parametrize("base", [1.0, 1.25, 2.0, 50.0])
depths = pytest.mark.parametrize("max_depth", [1, 2, 3, 6, 14])
LIKE = torch.zeros(1, dtype=torch.float64)


def random_logits(width: int, tokens: int = 50, scale: float = 3.0) -> Tensor:
    generator = torch.Generator().manual_seed(width)
    return scale * torch.randn(tokens, width, generator=generator, dtype=torch.float64)


def close(one: Tensor, other: Tensor, tolerance: float = 1e-12) -> None:
    torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)


def brute_prior(max_depth: int, base: float) -> Tensor:
    weights = torch.tensor([base**-d for d in range(1, max_depth + 1)], dtype=torch.float64)
    return weights / weights.sum()


@bases
@depths
def test_prior_is_a_normalised_power(max_depth: int, base: float) -> None:
    prior = exits.log_prior(max_depth, base, LIKE).exp()
    assert prior.sum() == pytest.approx(1, abs=1e-14)
    close(prior, brute_prior(max_depth, base))


@pytest.mark.parametrize(
    ("max_depth", "base", "mean", "always_deepest"),
    [(14, 1.25, 4.36, 4.47), (6, 2.0, 1.90, 4.14), (6, 1.0, 3.50, 1.79)],
)
def test_prior_of_the_papers_settings(max_depth: int, base: float, mean: float, always_deepest: float) -> None:
    log_p = exits.log_prior(max_depth, base, LIKE)
    assert exits.expected_depth(log_p).item() == pytest.approx(mean, abs=0.005)
    assert -log_p[-1].item() == pytest.approx(always_deepest, abs=0.005)


@bases
@depths
def test_prior_hazards_are_conditional_probabilities(max_depth: int, base: float) -> None:
    log_h, log_rest = exits.log_prior_hazards(max_depth, base, LIKE)
    prior = brute_prior(max_depth, base)
    expected = torch.stack([prior[d] / prior[d:].sum() for d in range(max_depth)])[:-1]
    close(log_h.exp(), expected)
    close(log_rest.exp(), 1 - expected)


@depths
def test_hazards_give_a_distribution(max_depth: int) -> None:
    logits = random_logits(max_depth - 1)
    q = exits.hazards_to_log_probs(logits).exp()
    close(q.sum(-1), torch.ones(50, dtype=torch.float64))
    alpha, left = logits.sigmoid(), torch.ones(50, dtype=torch.float64)
    for d in range(max_depth - 1):
        close(q[:, d], left * alpha[:, d])
        left = left * (1 - alpha[:, d])
    close(q[:, -1], left)


@depths
def test_expected_depth_is_the_sum_of_survival(max_depth: int) -> None:
    logits = random_logits(max_depth - 1)
    survival = exits.log_survival(logits).exp().sum(-1)
    close(exits.expected_depth(exits.hazards_to_log_probs(logits)), 1 + survival)


@bases
@depths
def test_kl_decomposes_into_entropy_and_mean_depth(max_depth: int, base: float) -> None:
    log_q = random_logits(max_depth).log_softmax(-1)
    entropy = -(log_q.exp() * log_q).sum(-1)
    log_z = math.log(sum(base**-d for d in range(1, max_depth + 1)))
    kl = exits.kl_divergence(log_q, exits.log_prior(max_depth, base, log_q))
    close(kl, -entropy + math.log(base) * exits.expected_depth(log_q) + log_z)


def hazard_kl(logits: Tensor, base: float) -> tuple[Tensor, Tensor]:
    """Return kl_d of each decision, and r(d - 1), the mass that makes it (spec: the chain rule over hazards)."""
    log_h, log_rest = exits.log_prior_hazards(logits.shape[-1] + 1, base, logits)
    alpha = logits.sigmoid()
    each = alpha * (logsigmoid(logits) - log_h) + (1 - alpha) * (logsigmoid(-logits) - log_rest)
    mass = torch.cat([torch.ones_like(logits[:, :1]), exits.log_survival(logits).exp()], dim=-1)
    return each, mass


@bases
@pytest.mark.parametrize("max_depth", [2, 3, 6, 14])
def test_kl_is_the_sum_over_hazards(max_depth: int, base: float) -> None:
    logits = random_logits(max_depth - 1)
    log_q = exits.hazards_to_log_probs(logits)
    each, mass = hazard_kl(logits, base)
    assert (each >= 0).all()
    close(exits.kl_divergence(log_q, exits.log_prior(max_depth, base, log_q)), (each * mass[:, :-1]).sum(-1))


@bases
@pytest.mark.parametrize("max_depth", [1, 2, 6])
def test_gradient_of_kl_by_logits(max_depth: int, base: float) -> None:
    logits = random_logits(max_depth).requires_grad_()
    log_q, log_p = logits.log_softmax(-1), exits.log_prior(max_depth, base, logits)
    kl = exits.kl_divergence(log_q, log_p)
    kl.sum().backward()
    close(logits.grad, (log_q.exp() * (log_q - log_p - kl[:, None])).detach())


@bases
@pytest.mark.parametrize("max_depth", [2, 3, 6])
def test_gradient_of_kl_by_halting_logits(max_depth: int, base: float) -> None:
    logits = random_logits(max_depth - 1).requires_grad_()
    log_q = exits.hazards_to_log_probs(logits)
    exits.kl_divergence(log_q, exits.log_prior(max_depth, base, log_q)).sum().backward()
    with torch.no_grad():
        each, mass = hazard_kl(logits, base)
        log_h, log_rest = exits.log_prior_hazards(max_depth, base, logits)
        contribution = each * mass[:, :-1]
        to_go = (contribution.flip(-1).cumsum(-1).flip(-1) - contribution) / mass[:, 1:]
        alpha = logits.sigmoid()
        expected = mass[:, :-1] * alpha * (1 - alpha) * (logits - (log_h - log_rest) - to_go)
    close(logits.grad, expected, 1e-10)


@pytest.mark.parametrize("size", [17.0, 90.0, 200.0, 1e4])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("base", [1.0, 2.0])
def test_saturated_logits_give_finite_values_and_gradients(size: float, dtype: torch.dtype, base: float) -> None:
    signs = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * 3).to(dtype)
    for to_log_q in (lambda x: x.log_softmax(-1), exits.hazards_to_log_probs):
        logits = (size * signs).requires_grad_()
        log_q = to_log_q(logits)
        kl = exits.kl_divergence(log_q, exits.log_prior(log_q.shape[-1], base, log_q))
        kl.sum().backward()
        assert torch.isfinite(kl).all()
        assert (kl >= -1e-6).all()
        assert torch.isfinite(logits.grad).all()


def test_one_depth_leaves_nothing_to_pay() -> None:
    logits = torch.zeros(3, 1, dtype=torch.float64, requires_grad=True)
    for log_q in (logits.log_softmax(-1), exits.hazards_to_log_probs(torch.zeros(3, 0, dtype=torch.float64))):
        assert (log_q == 0).all()
        assert (exits.kl_divergence(log_q, exits.log_prior(1, 2.0, log_q)) == 0).all()


def test_small_hazards_keep_their_digits_over_many_decisions() -> None:
    logits = torch.full((64,), math.log(1e-3 / (1 - 1e-3)))
    assert exits.log_survival(logits)[-1].exp().item() == pytest.approx((1 - 1e-3) ** 64, rel=1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_straight_through_is_exact_forward_and_soft_backward(dtype: torch.dtype) -> None:
    soft = torch.linspace(0, 1, 1001).to(dtype).requires_grad_()
    hard = (soft.detach() > 0.5).to(dtype)
    activity = exits.straight_through(hard, soft)
    activity.sum().backward()
    assert torch.equal(activity, hard)
    assert (soft.grad == 1).all()
    assert not torch.equal(hard + soft - soft.detach(), hard)  # the usual order would not do


def test_half_precision_is_widened() -> None:
    assert exits.at_least_float32(torch.ones(1, dtype=torch.bfloat16)).dtype == torch.float32
    assert exits.at_least_float32(torch.ones(1, dtype=torch.float64)).dtype == torch.float64


def brute_select(q: list[float], rule: str, level: float) -> int:
    """Return a depth by the rule's definition: first mode, nearest to the mean, least d with F(d) >= level."""
    if rule == "mode":
        return q.index(max(q)) + 1
    if rule == "mean":
        return math.floor(sum(d * mass for d, mass in enumerate(q, start=1)) + 0.5)
    return next((d for d in range(1, len(q)) if sum(q[:d]) >= level), len(q))


@quick
@given(st.lists(st.floats(-9, 9), min_size=1, max_size=9), st.sampled_from(get_args(exits.Rule)), st.floats(0.01, 1.0))
def test_select_depth_follows_its_definition(logits: list[float], rule: exits.Rule, level: float) -> None:
    log_q = torch.tensor(logits, dtype=torch.float64).log_softmax(-1)
    level = 0.5 if rule == "median" else level
    q = log_q.exp().tolist()
    margins = [abs(sum(q[:d]) - level) for d in range(1, len(q))]
    mean = sum(d * mass for d, mass in enumerate(q, start=1))
    if min([*margins, abs(mean % 1 - 0.5)]) > 1e-9:  # ties are below
        assert exits.select_depth(log_q, rule, level).item() == brute_select(q, rule, level)


@pytest.mark.parametrize(
    ("q", "rule", "depth"),
    [
        ([0.25, 0.25, 0.25, 0.25], "mode", 1),
        ([0.5, 0.5], "median", 1),
        ([0.5, 0.5], "mean", 2),
        ([0.25, 0.25, 0.5], "median", 2),
    ],
)
def test_ties(q: list[float], rule: exits.Rule, depth: int) -> None:
    assert exits.select_depth(torch.tensor(q).log(), rule, 0.5).item() == depth


@pytest.mark.parametrize("cap", [1, 2, 4, 5, 9])
def test_cap_depth_is_the_distribution_of_the_smaller(cap: int) -> None:
    q = random_logits(5).softmax(-1)
    capped = exits.cap_depth(q.log(), cap).exp()
    depth = torch.arange(1, 6).clamp(max=cap)
    expected = torch.stack([q[:, depth == d].sum(-1) for d in range(1, min(cap, 5) + 1)], dim=-1)
    close(capped, expected)


@pytest.mark.parametrize(("value", "rounded"), [(0.5, 1), (1.5, 2), (2.5, 3), (2.49, 2), (3.5, 4)])
def test_halves_are_rounded_upwards(value: float, rounded: int) -> None:
    assert exits.round_half_up(torch.tensor(value)).item() == rounded


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9, 1.0])
def test_halted_compares_the_mass_left(level: float) -> None:
    r = torch.tensor([1.0, 0.91, 0.89, 0.51, 0.49, 0.11, 0.09, 1e-30], dtype=torch.float64)
    expected = (1 - r >= level) & torch.tensor(level < 1)
    assert torch.equal(exits.halted(r.log(), level), expected)
