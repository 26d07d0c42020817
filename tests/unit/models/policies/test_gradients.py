"""Straight-through gradients of the two deciders against their closed forms, on a toy recursion.

With h(d) = a(d) c(d) + (1 - a(d)) h(d-1), where c(d) is the core's output, the derivative of a loss by a(d) is
g(d) = <dL/dh(d), c(d) - h(d-1)>. The rest is the derivative of the relaxed a(d) by the decider's logits.
"""

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from anira.models import AniraConfig, exits
from anira.models.policies import ComputePolicy, Context, TaskLoss, policy_class

TOKENS, HIDDEN, DEPTH = 40, 16, 5


class GivenLogits(nn.Module):
    """A decider that does not read the state, so that the gradient takes the direct path only."""

    def __init__(self, *logits: Tensor) -> None:
        super().__init__()
        self.answers = iter(logits)

    def forward(self, h: Tensor) -> Tensor:
        return next(self.answers)


@dataclass
class Unrolled:
    """States (the first is h(0)), candidates and weights of a run, and the policy's state after it."""

    states: list[Tensor]
    candidates: list[Tensor]
    weights: list[Tensor]
    state: object

    def activity(self) -> Tensor:
        return torch.stack(self.weights, dim=-1).detach()

    def benefits(self) -> Tensor:
        """Return g(d), d = 1 .. D, from the gradients that the states have received."""
        triples = zip(self.states[1:], self.candidates, self.states[:-1], strict=True)
        return torch.stack([(h.grad * (c - before)).sum(-1) for h, c, before in triples], dim=-1)


def normal(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def new_policy(name: str, **options: object) -> ComputePolicy:
    config = AniraConfig(hidden_size=HIDDEN, max_depth=DEPTH, policy={"name": name, **options})
    policy = policy_class(name)(config).double()
    for i, parameter in enumerate(policy.parameters()):
        parameter.data.copy_(normal(*parameter.shape, seed=i) / HIDDEN**0.5)
    return policy


def unroll(policy: ComputePolicy, noise: Tensor) -> Unrolled:
    """Run the policy on a core that is a fixed nonlinear map."""
    h, core = normal(TOKENS, HIDDEN, seed=1), normal(HIDDEN, HIDDEN, seed=2) / 3
    positions = torch.arange(TOKENS)
    ctx = Context(
        valid=torch.ones(TOKENS, dtype=torch.bool), positions=positions, rows=positions, max_depth=DEPTH, noise=noise
    )
    run = Unrolled([h.requires_grad_()], [], [], policy.begin(h, ctx))
    for depth in range(1, DEPTH + 1):
        route = policy.route(depth, h, run.state)
        candidate = torch.tanh(h @ core) + h
        h = policy.update(depth, h, candidate, route, run.state)
        h.retain_grad()
        run.states.append(h)
        run.candidates.append(candidate)
        run.weights.append(route.run.double() if route.weight is None else route.weight)
    return run


def some_loss(h: Tensor) -> Tensor:
    return torch.sin(h * normal(HIDDEN, seed=3)).sum()


def looked_at(run: Unrolled, lookahead: str) -> Tensor:
    """Return g(d), without what lies beyond the first iteration after the exit if the look goes no further."""
    beyond = torch.arange(1, DEPTH + 1) > run.activity().sum(-1, keepdim=True) + 1
    return run.benefits().detach().masked_fill(beyond & (lookahead == "one"), 0.0)


@pytest.mark.parametrize("lookahead", ["full", "one"])
@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_early_decider(temperature: float, lookahead: str) -> None:
    logits = (2 * normal(TOKENS, DEPTH, seed=4)).requires_grad_()
    policy = new_policy("anira-e", temperature=temperature, lookahead=lookahead)
    policy.decider = GivenLogits(logits)
    noise = torch.rand(TOKENS, DEPTH, generator=torch.Generator().manual_seed(5))
    run = unroll(policy, noise)
    some_loss(run.states[-1]).backward()

    gumbel = -torch.log(-torch.log(noise.double()))
    y = torch.softmax((logits - logits.mean(-1, keepdim=True) + gumbel) / temperature, dim=-1).detach()
    assert torch.equal(run.activity().sum(-1).long(), y.argmax(-1) + 1)
    stopping = looked_at(run, lookahead).cumsum(-1)  # estimated change of the loss by stopping at k
    expected = y / temperature * (stopping - (y * stopping).sum(-1, keepdim=True))
    assert expected.abs().max() > 1e-2
    torch.testing.assert_close(logits.grad, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("lookahead", ["full", "one"])
def test_halting_decider(lookahead: str) -> None:
    logits = (2 * normal(TOKENS, DEPTH - 1, seed=6)).requires_grad_()
    policy = new_policy("anira-o", lookahead=lookahead)
    policy.decider = GivenLogits(*logits.split(1, dim=-1))
    noise = torch.rand(TOKENS, 1, generator=torch.Generator().manual_seed(7))
    run = unroll(policy, noise)
    some_loss(run.states[-1]).backward()

    alive = torch.cat([torch.zeros(TOKENS, 1), exits.log_survival(logits.detach())], dim=-1).exp()  # r(d - 1)
    assert torch.equal(run.activity(), (alive > noise).double())
    later = (looked_at(run, lookahead) * alive).flip(-1).cumsum(-1).flip(-1)[:, 1:]  # the sum over d > k
    expected = -logits.sigmoid().detach() * later
    assert expected.abs().max() > 1e-2
    torch.testing.assert_close(logits.grad, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("name", "width"), [("anira-e", DEPTH), ("anira-o", 1)])
def test_a_detached_decider_leaves_the_states_gradient_alone(name: str, width: int) -> None:
    """Then the gradient of the states is that of the hard path, on which the weights are constants."""
    noise = torch.rand(TOKENS, width, generator=torch.Generator().manual_seed(8))
    policies = [new_policy(name, detach=detach) for detach in (True, False)]
    policies[1].load_state_dict(policies[0].state_dict())
    cut, whole = (unroll(policy, noise) for policy in policies)
    hard = torch.stack([weight.detach() for weight in cut.weights])
    by_hand = normal(TOKENS, HIDDEN, seed=1).requires_grad_()
    h, core = by_hand, normal(HIDDEN, HIDDEN, seed=2) / 3
    for weight in hard:
        h = torch.where(weight[:, None] > 0, torch.tanh(h @ core) + h, h)
    for final in (cut.states[-1], whole.states[-1], h):
        some_loss(final).backward()
    torch.testing.assert_close(cut.states[0].grad, by_hand.grad, rtol=1e-10, atol=1e-12)
    assert not torch.allclose(whole.states[0].grad, by_hand.grad)
    assert policies[0].decider.out.bias.grad.abs().max() > 0


@pytest.mark.parametrize(("name", "width"), [("anira-e", DEPTH), ("anira-o", 1)])
def test_activity_is_zero_or_one_and_never_returns(name: str, width: int) -> None:
    run = unroll(new_policy(name), torch.rand(TOKENS, width, generator=torch.Generator().manual_seed(9)))
    activity = run.activity()
    assert set(activity.flatten().tolist()) == {0.0, 1.0}
    assert (activity[:, 0] == 1).all()
    assert (activity.diff(dim=-1) <= 0).all()
    frozen = activity[:, 1:] == 0
    states = torch.stack(run.states[1:], dim=1)
    assert torch.equal(states[:, 1:][frozen], states[:, :-1][frozen])


def test_compute_loss_of_the_early_decider() -> None:
    """The gradient is gamma / N * q_k (log(q_k / p_k) - KL), N the valid tokens of the global batch."""
    logits = normal(TOKENS, DEPTH, seed=10).requires_grad_()
    policy = new_policy("anira-e", gamma=0.3, base=1.5)
    policy.decider = GivenLogits(logits)
    run = unroll(policy, torch.rand(TOKENS, DEPTH, generator=torch.Generator().manual_seed(11)))
    valid = torch.arange(TOKENS) % 3 > 0
    zero = torch.zeros(1, TOKENS)
    task = TaskLoss(ce=zero, answer_mask=valid, valid=valid, num_valid_tokens=100.0, scale=0.5)
    policy.loss(run.state, task)["compute"].backward()

    log_ratio = (logits.log_softmax(-1) - exits.log_prior(DEPTH, 1.5, logits)).detach()
    q = logits.softmax(-1).detach()
    kl = (q * log_ratio).sum(-1, keepdim=True)
    expected = 0.3 * 0.5 / 100 * q * (log_ratio - kl) * valid[:, None]
    torch.testing.assert_close(logits.grad, expected, rtol=1e-10, atol=1e-14)
