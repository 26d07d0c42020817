import pytest
import torch
from tests.models_support import Case, noise_for, random_ids, random_model, small_config, spread_case

from anira.models import exits

RULES = [("mode", None), ("median", None), ("mean", None), ("quantile", 0.3), ("quantile", 0.9)]


@pytest.mark.parametrize(("rule", "threshold"), RULES)
def test_depth_is_selected_from_the_reported_distribution(rule: exits.Rule, threshold: float | None) -> None:
    out = spread_case(small_config("anira-e"), settings={"select": rule, "threshold": threshold}).parallel()
    level = 0.5 if threshold is None else threshold
    assert torch.equal(out.exit_depth, exits.select_depth(out.exit_log_probs, rule, level))
    assert torch.equal(out.executed, out.exit_depth)
    assert torch.equal(out.expected_depth, exits.expected_depth(out.exit_log_probs))


def test_the_mode_is_the_default() -> None:
    case = spread_case(small_config("anira-e"))
    default = case.parallel().exit_depth
    case.settings["select"] = "mode"
    assert torch.equal(default, case.parallel().exit_depth)


def test_a_smaller_max_depth_cuts_depths_and_folds_the_distribution() -> None:
    case = spread_case(small_config("anira-e"))
    free = case.parallel()
    case.settings["max_depth"] = 3
    cut = case.parallel()
    assert torch.equal(cut.exit_depth, free.exit_depth.clamp(max=3))
    assert torch.equal(cut.exit_log_probs, exits.cap_depth(free.exit_log_probs, 3))


def test_the_depth_is_known_before_the_first_iteration() -> None:
    """The core's weights have no say: another core gives the same depths."""
    case = spread_case(small_config("anira-e"))
    depths = case.parallel().exit_depth
    for parameter in case.model.model.core.parameters():
        parameter.data.mul_(-1.7)
    assert torch.equal(case.parallel().exit_depth, depths)


def test_the_temperature_changes_the_gradient_and_not_the_sample() -> None:
    ids, grads, depths = random_ids(3, 12), [], []
    for temperature in (0.5, 2.0):
        model = random_model(small_config("anira-e", options={"temperature": temperature}))
        out = model.train()(ids, labels=ids, noise=noise_for(model, ids))
        out.losses["ce"].backward()
        depths.append(out.exit_depth)
        grads.append(model.policy.decider.out.weight.grad)
    assert torch.equal(*depths)
    assert not torch.allclose(*grads)


def test_adding_a_constant_to_the_logits_changes_nothing() -> None:
    case = spread_case(small_config("anira-e"))
    before = case.parallel()
    case.model.policy.decider.out.bias.data += 1.0
    torch.testing.assert_close(before.exit_log_probs, case.parallel().exit_log_probs, rtol=0, atol=1e-12)


def test_one_decision_a_token() -> None:
    policy = random_model(small_config("anira-e")).policy
    assert policy.num_decisions(torch.tensor([1, 5]), 5).tolist() == [1, 1]
    assert policy.decision_flops() == 2 * (16 * 24 + 24 * 5)


def test_a_model_of_depth_one_has_no_choice() -> None:
    out = Case(random_model(small_config("anira-e", max_depth=1)), random_ids(2, 6)).parallel()
    assert (out.exit_depth == 1).all()
    assert (out.exit_log_probs == 0).all()
