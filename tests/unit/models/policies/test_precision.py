"""Policies on half precision and saturated deciders: finite values and gradients, activity exactly 0 or 1."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from anira.models import AniraConfig
from anira.models.policies import ComputePolicy, Context, TaskLoss, policy_class
from anira.models.precision import cpu_runs_bfloat16  # noqa: F401 (used in marks)

TOKENS, HIDDEN = 60, 16
NAMES = ["anira-e", "anira-o"]


def new_policy(name: str, max_depth: int = 5, **options: float) -> ComputePolicy:
    config = AniraConfig(hidden_size=HIDDEN, max_depth=max_depth, policy={"name": name, **options})
    policy = policy_class(name)(config)
    generator = torch.Generator().manual_seed(0)
    for parameter in policy.parameters():
        parameter.data.normal_(0, HIDDEN**-0.5, generator=generator)
    return policy


def activities(policy: ComputePolicy, h: Tensor, ctx: Context) -> tuple[list[Tensor], Tensor, object]:
    """Run a core that is elementwise, so that no half precision matrix product is needed."""
    state, weights = policy.begin(h, ctx), []
    for depth in range(1, ctx.max_depth + 1):
        route = policy.route(depth, h, state)
        weights.append(route.run.float() if route.weight is None else route.weight)
        h = policy.update(depth, h, 0.5 * h + 0.25 * h.roll(1, -1), route, state)
    return weights, h, state


def context(policy: ComputePolicy, max_depth: int, *, sampled: bool) -> Context:
    noise = torch.rand(TOKENS, policy.noise_width, generator=torch.Generator().manual_seed(1)) if sampled else None
    positions = torch.arange(TOKENS)
    return Context(
        valid=torch.ones(TOKENS, dtype=torch.bool),
        positions=positions,
        rows=positions,
        max_depth=max_depth,
        noise=noise,
    )


def states(dtype: torch.dtype) -> Tensor:
    return (3 * torch.randn(TOKENS, HIDDEN, generator=torch.Generator().manual_seed(2))).to(dtype)


def compute_loss(policy: ComputePolicy, state: object) -> Tensor:
    valid, zero = torch.ones(TOKENS, dtype=torch.bool), torch.zeros(1, TOKENS)
    task = TaskLoss(ce=zero, answer_mask=valid, valid=valid, num_valid_tokens=TOKENS)
    return policy.loss(state, task)["compute"]


@pytest.mark.parametrize("base", [1.0, 2.0])
@pytest.mark.parametrize("max_depth", [1, 2, 5])
@pytest.mark.parametrize("push", [-200.0, 0.0, 200.0])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("name", NAMES)
def test_training_is_finite(name: str, dtype: torch.dtype, push: float, max_depth: int, base: float) -> None:
    policy = new_policy(name, max_depth, base=base)
    policy.decider.out.bias.data[0] += push
    h = states(dtype).requires_grad_()
    weights, last, state = activities(policy, h, context(policy, max_depth, sampled=True))
    loss = compute_loss(policy, state)
    (last.float().square().sum() + loss).backward()

    activity = torch.stack(weights)
    assert ((activity == 0) | (activity == 1)).all()
    assert last.dtype == dtype
    assert torch.isfinite(loss)
    assert loss >= (0 if max_depth > 1 else -1e-6)
    for parameter in (h, *policy.parameters()):
        assert parameter.grad is None or torch.isfinite(parameter.grad).all()


# The first logit is the early decider's for depth 1, and the halting decider's only one.
SATURATED = [
    ("anira-e", 200.0, {1}),
    ("anira-e", -200.0, {2, 3, 4, 5}),
    ("anira-o", 200.0, {1}),
    ("anira-o", -200.0, {5}),
]


@pytest.mark.parametrize("rule", ["mode", "median", "mean"])
@pytest.mark.parametrize(("name", "push", "depths"), SATURATED)
def test_deciding_is_finite(name: str, push: float, depths: set[int], rule: str) -> None:
    policy = new_policy(name)
    policy.decider.out.bias.data[0] += push
    ctx = replace(context(policy, 5, sampled=False), select=rule)
    _, last, state = activities(policy, states(torch.bfloat16), ctx)
    allocation = policy.allocation(state)
    assert torch.isfinite(last).all()
    assert torch.isfinite(allocation.exit_log_probs).all()
    assert set(allocation.exit_depth.tolist()) <= depths


@pytest.mark.parametrize("name", NAMES)
def test_deciders_stay_wide_in_a_half_precision_model(name: str) -> None:
    """However the model is cast: its weights keep their digits, and bfloat16 states are decided on in float32."""
    policy, h = new_policy(name), states(torch.bfloat16)
    wide = policy.decider(h.float())
    for cast in (policy.bfloat16, policy.half, lambda: policy.to(torch.bfloat16)):
        narrow = cast().decider(h)
        assert narrow.dtype == torch.float32
        assert torch.equal(narrow, wide)
    assert policy.double().decider(h.double()).dtype == torch.float64


class Narrow(nn.Module):
    """Stands in for a matrix under autocast, on CPUs that die of a real one; notes whether autocast was on."""

    def forward(self, x: Tensor) -> Tensor:
        assert torch.is_autocast_enabled("cpu")
        return x.repeat(1, 3).bfloat16()


@pytest.mark.parametrize("name", NAMES)
def test_autocast_narrows_the_first_matrix_of_a_decider_and_nothing_else(name: str) -> None:
    policy, h = new_policy(name), states(torch.float32)
    width = policy.decider.up.in_features
    policy.decider.up = Narrow()
    policy.decider.out = nn.Linear(3 * width, policy.decider.out.out_features)
    seen: list[tuple[torch.dtype, bool]] = []
    policy.decider.out.register_forward_pre_hook(
        lambda module, args: seen.append((args[0].dtype, torch.is_autocast_enabled("cpu")))
    )
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = policy.decider(h)
    assert logits.dtype == torch.float32
    assert seen == [(torch.float32, False)]


@pytest.mark.skipif("not cpu_runs_bfloat16()", reason="this CPU cannot compute in bfloat16")
@pytest.mark.parametrize("name", NAMES)
def test_a_decision_under_autocast_is_off_by_one_rounding_of_its_first_matrix(name: str) -> None:
    policy, h = new_policy(name), states(torch.float32)
    exact = policy.decider(h)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough = policy.decider(h)
    assert rough.dtype == torch.float32
    assert not torch.equal(rough, exact)
    with torch.no_grad():
        scale = policy.decider.out.weight.abs().sum() * policy.decider.up(policy.decider.norm(h)).abs().max()
    torch.testing.assert_close(rough, exact, rtol=0, atol=float(scale) * 2**-7)
    rough.sum().backward()
    assert all(parameter.grad.dtype == torch.float32 for parameter in policy.parameters())
