"""ACT and the Universal Transformer: weights, remainder and its gradient, the mixture, and one function in all runs."""

from typing import Any

import pytest
import torch
from tests.models_support import Case, random_ids, random_model
from tests.unit.models.policies.hazard_support import (
    DEPTH,
    WIDTH,
    assert_all_ways_agree,
    assert_decisions_are_those_made,
    assert_exit_policy,
    case_of,
    config_of,
    flat_context,
    normal,
    training_model,
)
from torch import Tensor

from anira.config import UserError
from anira.models import AniraForCausalLM
from anira.models.policies import TaskLoss, resolve_policy
from anira.models.policies.halting_mass import MassState
from anira.models.policies.universal import timestep_signal

TOKENS = 60
ACT: dict[str, Any] = {"name": "act"}
FREEZE: dict[str, Any] = {"name": "universal", "signal": 1.0}
EVOLVE: dict[str, Any] = {**FREEZE, "after_halting": "evolve"}
every = pytest.mark.parametrize("policy", [ACT, FREEZE, EVOLVE], ids=["act", "universal", "evolve"])


def weighed(probs: Tensor, **context: Any) -> tuple[MassState, Tensor]:
    """Return the books after all iterations, and the weight of each."""
    state = MassState.start(torch.zeros(len(probs), WIDTH).double(), flat_context(len(probs), **context))
    weights = []
    for depth in range(1, DEPTH + 1):
        state.weigh(depth, probs[:, depth - 1] if depth < DEPTH else None, epsilon=0.01)
        weights.append(state.weight)
    return state, torch.stack(weights, -1)


def weights_by_hand(probs: list[float], epsilon: float = 0.01) -> list[float]:
    weights: list[float] = []
    for p in [*probs, 1.0]:
        if sum(weights) + p >= 1 - epsilon:
            return [*weights, 1 - sum(weights)]
        weights.append(p)
    raise AssertionError


def some_probs() -> Tensor:
    return torch.sigmoid(4 * normal(TOKENS, DEPTH - 1, seed=0) - 2)


def test_weights_add_up_to_one_and_the_last_takes_the_remainder() -> None:
    state, weights = weighed(some_probs())
    for i, probs in enumerate(some_probs().tolist()):
        expected = weights_by_hand(probs)
        assert state.exit_depth[i] == len(expected)
        assert weights[i].tolist() == pytest.approx(expected + [0.0] * (DEPTH - len(expected)), abs=1e-12)
        assert state.mean_depth[i].item() == pytest.approx(sum(n * w for n, w in enumerate(expected, 1)))
    assert set(state.exit_depth.tolist()) == {1, 2, 3, 4, 5}
    torch.testing.assert_close(weights.sum(-1), torch.ones(TOKENS).double())


def test_the_remainder_falls_by_one_with_each_earlier_halt_prob() -> None:
    probs = some_probs().requires_grad_()
    state, _ = weighed(probs)
    policy = AniraForCausalLM(config_of({"name": "act", "tau": 0.3})).policy
    valid = torch.arange(TOKENS) % 3 > 0
    task = TaskLoss(ce=torch.zeros(1, TOKENS), answer_mask=valid, valid=valid, num_valid_tokens=50.0, scale=0.5)
    loss = policy.loss(state, task)["ponder"]
    assert loss.item() == pytest.approx(0.3 * 0.5 / 50 * (state.exit_depth + state.remainder)[valid].sum().item())
    loss.backward()
    before = torch.arange(1, DEPTH) < state.exit_depth[:, None]
    torch.testing.assert_close(probs.grad, -0.3 * 0.5 / 50 * (before & valid[:, None]).double())


def test_forced_weights_are_never_negative() -> None:
    forced = torch.arange(TOKENS) % DEPTH + 1
    state, weights = weighed(some_probs(), forced_depth=forced)
    assert torch.equal(state.exit_depth, forced)
    assert weights.min() > -1e-12
    torch.testing.assert_close(weights.sum(-1), torch.ones(TOKENS).double())
    own = weighed(some_probs())[0].exit_depth
    torch.testing.assert_close(weighed(some_probs(), forced_depth=own)[1], weighed(some_probs())[1], rtol=0, atol=0)


@every
def test_all_executions_agree(policy: dict[str, Any]) -> None:
    case = case_of(policy, num_coda_layers=0)
    out = assert_exit_policy(case)
    assert_decisions_are_those_made(case)
    if policy is EVOLVE:
        assert (out.executed[case.valid] == DEPTH).all()
    else:
        assert torch.equal(out.executed, out.exit_depth)
    case.settings = {"exits": "virtual"}
    assert_all_ways_agree(case)


@every
@pytest.mark.parametrize("backbone", [{"num_core_layers": 2, "injection": "add"}, {"shared_core": False}], ids=str)
def test_other_cores(policy: dict[str, Any], backbone: dict[str, Any]) -> None:
    assert_exit_policy(case_of(policy, **backbone))


def mixture(case: Case, states: list[Tensor], probs: list[Tensor]) -> Tensor:
    """Return the logits of the mixture of states by hand, token by token."""
    z = torch.zeros_like(states[0])
    for index in case.valid.nonzero().tolist():
        weights = weights_by_hand([p[tuple(index)].item() for p in probs])
        for n, weight in enumerate(weights):
            z[tuple(index)] += weight * states[n][tuple(index)]
    return case.model.lm_head(case.model.model.norm(z))


@torch.no_grad()
@pytest.mark.parametrize("exits", ["real", "virtual"])
def test_the_readout_is_the_mixture(exits: str) -> None:
    case = case_of(ACT, num_coda_layers=0)
    out = case.parallel(output_iteration_states=True, exits=exits)
    states = list(out.iteration_states[1:])
    probs = [torch.sigmoid(case.model.policy.decider(h)[..., 0]) for h in states[:-1]]
    expected = mixture(case, states, probs)
    torch.testing.assert_close(out.logits[case.valid], expected[case.valid], rtol=0, atol=1e-9)
    assert (out.executed > out.exit_depth).any() == (exits == "virtual")


@torch.no_grad()
@pytest.mark.parametrize("policy", [FREEZE, EVOLVE], ids=["freeze", "evolve"])
def test_universal_decides_from_the_state_before_and_adds_the_signal(policy: dict[str, Any]) -> None:
    case = case_of(policy, num_coda_layers=0)
    own = case.model.policy
    own.scale.fill_(0.7)
    out = case.parallel(output_iteration_states=True)
    runs = [torch.ones_like(out.executed) if policy is EVOLVE else (out.exit_depth > d).long() for d in range(1, DEPTH)]
    signals = [0.7 * timestep_signal(d + 1, WIDTH, own.scale) for d in range(1, DEPTH)]
    states = [h - r[..., None] * s for h, r, s in zip(out.iteration_states[1:], runs, signals, strict=False)]
    states.append(out.iteration_states[-1])
    probs = [torch.sigmoid(own.decider(h)[..., 0]) for h in out.iteration_states[: DEPTH - 1]]
    expected = mixture(case, states, probs)
    torch.testing.assert_close(out.logits[case.valid], expected[case.valid], rtol=0, atol=1e-9)


def test_iterations_have_different_signals() -> None:
    like = torch.zeros((), dtype=torch.float64)
    signals = torch.stack([timestep_signal(d, WIDTH, like) for d in range(1, 9)])
    assert torch.pdist(signals).min() > 0.1
    torch.testing.assert_close(signals.square().sum(-1), torch.full((8,), WIDTH / 2).double())
    assert timestep_signal(2, 15, like).shape == (15,)


@every
def test_gradient_reaches_the_halting_unit(policy: dict[str, Any]) -> None:
    for tau in (0.0, 0.1):  # through the mixture alone, and with the ponder cost
        model, ids, labels = training_model({**policy, "tau": tau})
        model.policy.decider.out.weight.data /= 10
        out = model(ids, labels=labels)
        out.loss.backward()
        assert model.policy.decider.out.bias.grad.abs().max() > 1e-6
        assert set(out.losses) == {"ce", "ponder"}
    if policy is not ACT:
        assert model.policy.scale.grad.abs() > 0


@every
def test_training_and_evaluation_are_the_same_function(policy: dict[str, Any]) -> None:
    model, ids, _ = training_model(policy)
    trained = model(ids)
    evaluated = model.eval()(ids)
    assert torch.equal(trained.logits, evaluated.logits)
    assert torch.equal(trained.exit_depth, evaluated.exit_depth)


@pytest.mark.parametrize(("bias", "depth"), [(1.0, 2), (-1.0, 4), (-3.0, 5)])
def test_the_bias_sets_the_first_depth(bias: float, depth: int) -> None:
    model = AniraForCausalLM(config_of({"name": "act", "bias": bias, "zero_start": True}))
    assert (model(random_ids(2, 6)).exit_depth == depth).all()


@every
def test_one_iteration_on_offer_is_the_whole_mixture(policy: dict[str, Any]) -> None:
    model, ids = random_model(config_of(policy, num_coda_layers=0)), random_ids(2, 6)
    out = model(ids, max_depth=1, output_iteration_states=True)
    torch.testing.assert_close(out.logits, model.lm_head(model.model.norm(out.iteration_states[1])))
    assert (out.expected_depth == 1).all()


@pytest.mark.parametrize(
    "wrong", [{"tau": -1.0}, {"epsilon": 1.0}, {"epsilon": -0.1}, {"signal": -1.0}, {"after_halting": "stop"}], ids=str
)
def test_bad_options_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=next(iter(wrong))):
        resolve_policy({"name": "universal", **wrong})
