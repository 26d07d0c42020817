"""Selection rules of the halting decider, decided online, against what they mean on the reported distribution.

A token's hazards up to its last executed iteration can be read off the reported distribution; after it they repeat.
"""

import math

import pytest
import torch
from tests.models_support import Case, random_ids, random_model, small_config, spread_case

from anira.models import AniraForCausalLM, AniraOutput, exits

backbones = pytest.mark.parametrize("backbone", [{}, {"num_core_layers": 2}, {"injection": "add"}])


def outputs(rule: str, threshold: float | None = None, **backbone: object) -> AniraOutput:
    settings = {"select": rule, "threshold": threshold}
    return spread_case(small_config("anira-o", **backbone), settings=settings).parallel()


def tokens(out: AniraOutput) -> list[tuple[list[float], int, int]]:
    """Return q, exit depth and executed iterations of every token."""
    flat = (value.flatten(0, 1).tolist() for value in (out.exit_log_probs.exp(), out.exit_depth, out.executed))
    return list(zip(*flat, strict=True))


def hazards(q: list[float]) -> list[float]:
    left = [1 - sum(q[:d]) for d in range(len(q))]
    return [min(mass / rest, 1.0) if rest > 1e-12 else 1.0 for mass, rest in zip(q[:-1], left, strict=False)]


@backbones
@pytest.mark.parametrize("level", [0.1, 0.3, 0.5, 0.9, 0.99])
def test_quantiles_invert_the_cumulative_distribution(level: float, backbone: dict[str, object]) -> None:
    out = outputs("quantile", level, **backbone)
    assert torch.equal(out.exit_depth, exits.select_depth(out.exit_log_probs, "quantile", level))
    assert torch.equal(out.executed, out.exit_depth)


@backbones
def test_the_median_is_the_default(backbone: dict[str, object]) -> None:
    case = spread_case(small_config("anira-o", **backbone))
    out = case.parallel()
    assert torch.equal(out.exit_depth, exits.select_depth(out.exit_log_probs, "median", 0.5))
    case.settings = {"select": "quantile", "threshold": 0.5}
    assert torch.equal(out.exit_depth, case.parallel().exit_depth)


def mean_if_frozen(alphas: list[float], d: int, max_depth: int) -> float:
    """Return the mean depth if the hazards are alphas up to d, and the d-th from then on."""
    mean, left = 0.0, 1.0
    for depth in range(1, max_depth):
        alpha = alphas[min(depth, d) - 1]
        mean, left = mean + depth * left * alpha, left * (1 - alpha)
    return mean + max_depth * left


@backbones
def test_the_mean_halts_where_it_is_reached(backbone: dict[str, object]) -> None:
    for q, depth, executed in tokens(outputs("mean", **backbone)):
        alphas = hazards(q)
        reached = [math.floor(mean_if_frozen(alphas, d, 5) + 0.5) <= d for d in range(1, 5)]
        assert depth == executed == ([*reached, True].index(True) + 1)


@backbones
def test_the_mode_halts_once_no_later_depth_can_be_likelier(backbone: dict[str, object]) -> None:
    out = outputs("mode", **backbone)
    for q, depth, executed in tokens(out):
        settled = [1 - sum(q[:d]) <= max(q[:d]) for d in range(1, 5)]
        assert executed == [*settled, True].index(True) + 1
        assert depth == q.index(max(q)) + 1
    assert (out.executed >= out.exit_depth).all()
    assert (out.executed > out.exit_depth).any()


def test_the_mode_reads_out_the_state_of_its_depth() -> None:
    case = spread_case(small_config("anira-o", num_coda_layers=0), settings={"select": "mode"})
    out = case.parallel(output_iteration_states=True)
    assert (out.executed > out.exit_depth).any()
    states = torch.stack(out.iteration_states, dim=2)
    z = states.gather(2, out.exit_depth[..., None, None].expand(-1, -1, 1, 16))[:, :, 0]
    logits = case.model.lm_head(case.model.model.norm(z))
    torch.testing.assert_close(out.logits, logits, rtol=0, atol=1e-12)


def test_after_the_exit_the_hazard_repeats() -> None:
    """So says the unrolled graph: a frozen state is decided on again and again."""
    case = spread_case(small_config("anira-o"))
    out = case.parallel(output_iteration_states=True)
    logits = [case.model.policy.decider(h)[..., 0] for h in out.iteration_states[1:5]]
    expected = exits.hazards_to_log_probs(torch.stack(logits, dim=-1))
    torch.testing.assert_close(out.exit_log_probs, expected, rtol=0, atol=1e-12)


def test_a_forced_depth_reports_the_distribution_of_its_own_path() -> None:
    """At full depth no state is frozen: the hazards are those of the states that the core really reached."""
    model, ids = random_model(small_config("anira-o")), random_ids(2, 6)
    out = model(ids, exit_depth=5, output_iteration_states=True)
    logits = torch.stack([model.policy.decider(state)[..., 0] for state in out.iteration_states[1:5]], dim=-1)
    torch.testing.assert_close(out.exit_log_probs, exits.hazards_to_log_probs(logits), rtol=0, atol=1e-12)
    assert (out.exit_depth == 5).all()


@pytest.mark.parametrize("max_depth", [1, 2, 8])
def test_the_distribution_has_as_many_depths_as_are_on_offer(max_depth: int) -> None:
    case = Case(random_model(small_config("anira-o")), random_ids(2, 6), settings={"max_depth": max_depth})
    out = case.parallel()
    assert out.exit_log_probs.shape[-1] == max_depth
    torch.testing.assert_close(out.exit_log_probs.exp().sum(-1), torch.ones(2, 6).double())


def test_a_decision_after_every_iteration_but_the_last() -> None:
    policy = random_model(small_config("anira-o")).policy
    assert policy.num_decisions(torch.tensor([1, 4, 5]), 5).tolist() == [1, 4, 4]
    assert policy.decision_flops() == 2 * (16 * 24 + 24)


@pytest.mark.parametrize("bias", [-2.5, 1.0])
def test_the_initial_bias_is_an_option(bias: float) -> None:
    model = AniraForCausalLM(small_config("anira-o", options={"bias": bias}))
    assert model.policy.decider.out.bias.tolist() == [bias]
