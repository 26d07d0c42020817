"""Confidence: exits of any trained model, without weights and without training."""

import math

import pytest
import torch
from tests.models_support import random_ids, random_model, small_config
from tests.routing_support import assert_conforms, assert_executions_agree, config_of, model_of, various_case

from anira.config import UserError
from anira.models import AniraForCausalLM
from anira.models.policies.confidence import head_confidence

NAME = "confidence"
RULES = [("margin", 0.35), ("entropy", 0.3), ("max-prob", 0.45)]
every_rule = pytest.mark.parametrize(("rule", "threshold"), RULES)


BACKBONES = [{}, {"num_core_layers": 2, "num_coda_layers": 0}, {"shared_core": False}]


@pytest.mark.parametrize(("rule", "backbone"), [*zip(RULES, BACKBONES, strict=True)], ids=str)
def test_conforms(rule: tuple[str, float], backbone: dict[str, int]) -> None:
    select, threshold = rule
    assert_conforms(various_case(config_of(NAME, **backbone), padded=True, select=select, threshold=threshold))


def test_virtual_exits_and_other_depths_on_offer() -> None:
    for settings in ({"exits": "virtual"}, {"max_depth": 3}, {"max_depth": 8}):
        assert_executions_agree(various_case(config_of(NAME), threshold=0.35, **settings))


def test_confidences_by_hand() -> None:
    probs = [0.6, 0.3, 0.1, 0.0]
    logits = torch.tensor(probs).log() + 5
    assert head_confidence(logits, "margin").item() == pytest.approx(0.3)
    assert head_confidence(logits, "max-prob").item() == pytest.approx(0.6)
    entropy = -sum(p * math.log(p) for p in probs if p)
    assert head_confidence(logits, "entropy").item() == pytest.approx(1 - entropy / math.log(4))
    for rule, _ in RULES:
        assert head_confidence(torch.tensor([50.0, -50.0, -50.0]), rule).item() == pytest.approx(1)
    assert head_confidence(torch.zeros(4), "entropy").item() == pytest.approx(0)


@every_rule
def test_exits_are_where_confidence_first_reaches_the_threshold(rule: str, threshold: float) -> None:
    """Under virtual exits the states do not depend on who exits, so that exits can be recomputed from them."""
    case = various_case(config_of(NAME), select=rule, threshold=threshold, exits="virtual")
    out = case.parallel(output_iteration_states=True)
    states = torch.stack(out.iteration_states[1:])
    sure = head_confidence(case.model.lm_head(case.model.model.norm(states)), rule) >= threshold
    sure[-1] = True
    assert torch.equal(out.exit_depth, sure.long().argmax(0) + 1)


@pytest.mark.parametrize("trained", ["fixed", "anira-e", "anira-o"])
def test_weights_of_any_model_fit(trained: str) -> None:
    before = random_model(small_config(trained))
    after = AniraForCausalLM(config_of(NAME)).double().eval()
    found = after.load_state_dict(before.state_dict(), strict=False)
    assert not found.missing_keys
    assert all(key.startswith("policy.") for key in found.unexpected_keys)
    assert not list(after.policy.parameters())
    ids = random_ids(2, 9)
    full = before(ids, exit_depth=5)
    torch.testing.assert_close(after(ids, exit_depth=5).logits, full.logits)
    torch.testing.assert_close(after.train()(ids).logits, full.logits)


def test_training_is_that_of_a_fixed_depth() -> None:
    fixed = random_model(small_config("fixed")).train()
    model = model_of(NAME).train()
    model.load_state_dict(fixed.state_dict())
    ids = random_ids(2, 9)
    assert model(ids, labels=ids).loss.item() == fixed(ids, labels=ids).loss.item()
    assert (model(ids).executed == 5).all()


def test_a_higher_threshold_is_deeper() -> None:
    case = various_case(config_of(NAME), threshold=0.35)
    for rule, _ in RULES:
        case.settings = {"select": rule}
        means = [case.parallel(threshold=t).executed.double().mean() for t in (0.0, 0.2, 0.5, 1.0)]
        assert means == sorted(means)
        assert (means[0], means[-1]) == (1, 5)


def test_the_head_is_counted() -> None:
    policy = model_of(NAME).policy
    assert policy.decision_flops() == 2 * 16 * 20
    assert policy.float32_flops() == 0
    assert policy.num_decisions(torch.tensor([1, 4, 5]), 5).tolist() == [1, 4, 4]


def test_thresholds_are_checked() -> None:
    with pytest.raises(UserError, match="threshold"):
        model_of(NAME)(random_ids(1, 3), threshold=1.5)
    with pytest.raises(UserError, match="no rule 'mode'"):
        model_of(NAME)(random_ids(1, 3), select="mode")
