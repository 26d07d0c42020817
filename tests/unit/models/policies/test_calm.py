"""CALM: answers after every iteration, exits by confidence, and a classifier that learns in a second stage."""

import math
from typing import Any

import pytest
import torch
from tests.models_support import random_ids
from tests.routing_support import (
    assert_conforms,
    assert_executions_agree,
    config_of,
    model_of,
    training_loss,
    various_case,
)

from anira.config import UserError
from anira.models import AniraForCausalLM, AniraOutput
from anira.models.policies import Context

NAME = "calm"
RULES: list[tuple[dict[str, Any], float]] = [
    ({}, 0.35),
    ({"confidence": "cosine"}, 0.6),
    ({"confidence": "classifier"}, 0.5),
    ({"decay": 4.0}, 0.35),
]


BACKBONES: list[dict[str, Any]] = [{"num_coda_layers": 0}, {"num_core_layers": 2}, {}, {"shared_core": False}]


@pytest.mark.parametrize(("rule", "backbone"), [*zip(RULES, BACKBONES, strict=True), (RULES[0], BACKBONES[3])], ids=str)
def test_conforms(rule: tuple[dict[str, Any], float], backbone: dict[str, Any]) -> None:
    options, threshold = rule
    config = config_of(NAME, options, max_position_embeddings=32, **backbone)
    assert_conforms(various_case(config, padded=True, threshold=threshold))


def test_virtual_exits_and_other_depths_on_offer() -> None:
    settings: list[dict[str, Any]] = [{"exits": "virtual"}, {"max_depth": 3}, {"max_depth": 8}]
    for (options, threshold), extra in zip(RULES[:3], settings, strict=True):
        assert_executions_agree(various_case(config_of(NAME, options), threshold=threshold, **extra))


def test_the_loss_weighs_iterations_by_their_number() -> None:
    model = model_of(NAME).train()
    ids = random_ids(2, 9)
    out = model(ids, labels=ids, output_iteration_states=True)
    total = 0.0
    for d, h in enumerate(out.iteration_states[1:], start=1):
        logits = model.lm_head(model.model.norm(h))[:, :-1]
        total += d / 15 * torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
    torch.testing.assert_close(out.loss, total)
    assert set(out.losses) == {"ce"}
    assert (out.executed == 5).all()
    full = model.eval()(ids, exit_depth=5)  # what is logged is the answer at full depth
    torch.testing.assert_close(out.logits, full.logits)


@pytest.mark.parametrize(("rule", "threshold"), [("margin", 0.35), ("cosine", 0.6), ("classifier", 0.5)])
def test_exits_are_where_confidence_first_reaches_the_threshold(rule: str, threshold: float) -> None:
    config = config_of(NAME, {"confidence": "classifier"})
    case = various_case(config, select=rule, threshold=threshold, exits="virtual")
    model = case.model
    out = case.parallel(output_iteration_states=True)
    states = torch.stack(out.iteration_states)
    if rule == "margin":
        best = torch.softmax(model.lm_head(model.model.norm(states[1:])), dim=-1).sort(-1).values
        confidence = best[..., -1] - best[..., -2]
    elif rule == "cosine":
        lengths = states.norm(dim=-1)
        confidence = (states[1:] * states[:-1]).sum(-1) / (lengths[1:] * lengths[:-1])
    else:
        classifier = model.policy.classifier.out
        confidence = 1 / (1 + torch.exp(-(states[1:] @ classifier.weight[0]) - classifier.bias))
    sure = confidence >= threshold
    sure[-1] = True
    assert torch.equal(out.exit_depth, sure.long().argmax(0) + 1)
    answer = states[1:].gather(0, (out.exit_depth - 1)[None, ..., None].expand(1, -1, -1, 16))[0]
    torch.testing.assert_close(out.logits, model.lm_head(model.model.norm(answer)))


def test_a_falling_threshold() -> None:
    model = model_of(NAME, {"decay": 4.0}, max_position_embeddings=32)
    positions = torch.tensor([0, 16, 32])
    ctx = Context(
        valid=positions >= 0, positions=positions, rows=positions * 0, max_depth=5, select="margin", threshold=0.8
    )
    found = model.policy.begin(torch.zeros(3, 16, dtype=torch.float64), ctx).threshold.tolist()
    assert found == pytest.approx([0.72 + 0.1 * math.exp(-4 * t / 32) for t in (0, 16, 32)])


def classifier_loss(model: AniraForCausalLM, out: AniraOutput) -> float:
    """Recompute the balanced loss token by token."""
    states = torch.stack(out.iteration_states[1:])[:, :, :-1]
    predicted = model.lm_head(model.model.norm(states)).argmax(-1)
    logits = model.policy.classifier(states)[..., 0]
    total = 0.0
    for d in range(4):
        agrees = (predicted[d] == predicted[4]).flatten().tolist()
        parts: dict[bool, list[float]] = {True: [], False: []}
        for agree, logit in zip(agrees, logits[d].flatten().tolist(), strict=True):
            parts[agree].append(math.log1p(math.exp(-logit if agree else logit)))
        there = [sum(part) / len(part) for part in parts.values() if part]
        total += sum(there) / len(there)
    return total / 4


def test_the_classifier_learns_from_both_classes_alike_and_moves_nothing_else() -> None:
    model = model_of(NAME, {"confidence": "classifier"})
    ids = random_ids(3, 14)
    out = model.train()(ids, labels=ids, output_iteration_states=True)
    assert out.losses["classifier"].item() == pytest.approx(classifier_loss(model, out))
    out.losses["classifier"].backward()
    assert {name for name, p in model.named_parameters() if p.grad is not None} == {
        "policy.classifier.out.weight",
        "policy.classifier.out.bias",
    }


def test_the_classifiers_loss_is_the_same_in_parts() -> None:
    model = model_of(NAME, {"confidence": "classifier"}).train()
    assert model.policy.uses_global_means
    ids = random_ids(4, 9)
    whole = model(ids, labels=ids)
    means = {"classes": whole.mean_sums["classes"] / 36}
    sizes = {"num_answer_tokens": torch.tensor(32), "num_valid_tokens": torch.tensor(36), "global_means": means}
    parts = [model(part, labels=part, **sizes).losses["classifier"] for part in ids.split((3, 1))]
    torch.testing.assert_close(sum(parts), whole.losses["classifier"])


def test_a_class_that_never_occurs_is_no_matter() -> None:
    """A head of zeros predicts the same token everywhere."""
    model = model_of(NAME, {"confidence": "classifier"}, vocab_size=2)
    with torch.no_grad():
        model.lm_head.weight.zero_()
    ids = torch.ones(2, 5, dtype=torch.long)
    out = model.train()(ids, labels=ids, output_iteration_states=True)
    assert out.losses["classifier"].isfinite()
    states = torch.stack(out.iteration_states[1:-1])[:, :, :-1]
    expected = torch.log1p(torch.exp(-model.policy.classifier(states))).mean()
    torch.testing.assert_close(out.losses["classifier"], expected)


def test_gradient_of_the_first_stage_reaches_the_core() -> None:
    model = model_of(NAME, num_coda_layers=0)
    training_loss(model)
    assert all(parameter.grad is not None for parameter in model.parameters())
    assert not list(model.policy.parameters())


def test_a_classifier_must_have_been_trained() -> None:
    with pytest.raises(UserError, match="has no exit classifier"):
        model_of(NAME)(random_ids(1, 3), select="classifier")
    both = model_of(NAME, {"confidence": "classifier"}).policy
    assert both.rule() == ("classifier", 0.5)
    assert both.rule("cosine", 0.3) == ("cosine", 0.3)


def test_what_deciding_costs() -> None:
    flops = {name: model_of(NAME, {"confidence": name}).policy for name in ("margin", "cosine", "classifier")}
    assert [policy.decision_flops() for policy in flops.values()] == [2 * 16 * 20, 6 * 16, 2 * 16]
    assert [policy.float32_flops() for policy in flops.values()] == [0, 6 * 16, 2 * 16]
    assert flops["margin"].num_decisions(torch.tensor([1, 5]), 5).tolist() == [1, 4]


def test_bad_options() -> None:
    with pytest.raises(UserError, match="decay"):
        config_of(NAME, {"decay": -1.0})
    with pytest.raises(UserError, match="confidence"):
        config_of(NAME, {"confidence": "mood"})
