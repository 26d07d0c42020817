"""Think-at-Hard's oracle on planted predictions, its loss in closed form, and both executions."""

from typing import Any

import pytest
import torch
from tests.unit.models.policies.criteria_support import (
    assert_all_ways_agree,
    assert_own_depths_forced_change_nothing,
    case_of,
    config_of,
    training_batch,
)
from torch import Tensor
from torch.nn.functional import binary_cross_entropy, cross_entropy

from anira.config import UserError
from anira.models import AniraForCausalLM
from anira.models.policies import TaskLoss


def trained_model(options: dict[str, Any] | None = None, **changes: Any) -> AniraForCausalLM:
    torch.manual_seed(0)
    config = config_of({"name": "think-at-hard", **(options or {})}, initializer_range=0.4, **changes)
    return AniraForCausalLM(config).double().train()


def by_hand(model: AniraForCausalLM, batch: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return cross-entropies, predictions and halt_probs of every depth, (5, batch, time - 1), from forced depths."""
    model.eval()
    outs = [model(batch["input_ids"], exit_depth=d, output_iteration_states=True) for d in range(1, 6)]
    model.train()
    logits = torch.stack([out.logits for out in outs])[:, :, :-1]
    targets = batch["labels"][:, 1:].expand(5, -1, -1)
    ce = cross_entropy(logits.flatten(0, 2), targets.flatten(), reduction="none").view(targets.shape)
    states = torch.stack([out.iteration_states[d] for d, out in enumerate(outs, 1)])
    probs = torch.sigmoid(model.policy.decider(states)[..., 0])
    return {"ce": ce, "right": logits.argmax(-1) == targets, "probs": probs, "answers": targets[0] != -100}


def planted(predicted: Tensor, targets: Tensor) -> TaskLoss:
    return TaskLoss(
        ce=torch.zeros(predicted.shape),
        answer_mask=targets != -100,
        valid=torch.ones_like(targets, dtype=torch.bool),
        num_valid_tokens=targets.numel(),
        targets=targets,
        logits=torch.nn.functional.one_hot(predicted, 4).double(),
    )


def test_the_oracle_halts_where_the_prediction_is_right() -> None:
    predicted = torch.tensor([[[1, 2, 3]], [[0, 2, 3]], [[0, 1, 3]]])
    halts = trained_model().policy.halts(planted(predicted, torch.tensor([[0, 2, -100]])))
    assert halts[..., :2].tolist() == [[[False, True]], [[True, True]], [[True, False]]]


@pytest.mark.parametrize("prompt", ["none", "floor", "mean"])
@pytest.mark.parametrize("floor", [1, 3])
def test_the_loss_in_closed_form(prompt: str, floor: int) -> None:
    model = trained_model({"prompt": prompt, "floor": floor, "weight": 0.7})
    batch = training_batch(model)
    out, hand = model(**batch), by_hand(model, batch)
    answers = hand["answers"]
    assert out.losses["ce"].item() == pytest.approx(hand["ce"].mean(0)[answers].mean().item())
    wanted, prompts = torch.zeros(()), []
    for d in range(floor, 5):
        right, probs = hand["right"][d - 1].double(), hand["probs"][d - 1]
        wanted = wanted + binary_cross_entropy(probs[:, :-1][answers], right[answers]) / (5 - floor)
        target = {"floor": torch.ones(()), "mean": right[answers].mean()}.get(prompt)
        if target is not None:
            rest = torch.cat([~answers, torch.ones(3, 1, dtype=torch.bool)], dim=1)
            prompts.append(binary_cross_entropy(probs[rest], target.double().expand(int(rest.sum())), reduction="sum"))
    wanted = wanted + sum(prompts) / (5 - floor) / batch["input_ids"].numel()
    assert out.losses["imitation"].item() == pytest.approx(0.7 * wanted.item())


def test_parts_of_a_batch_add_up() -> None:
    model = trained_model()
    batch = training_batch(model)
    whole = model(**batch)
    counts = {"num_answer_tokens": (batch["labels"][:, 1:] != -100).sum(), "num_valid_tokens": 36}
    parts = [{name: value[rows] for name, value in batch.items()} for rows in (slice(0, 1), slice(1, 3))]
    sums = [model(**part, **counts).mean_sums["oracle"] for part in parts]
    means = {"oracle": (sums[0] + sums[1]) / 36}
    total = sum(model(**part, **counts, global_means=means).losses["imitation"] for part in parts)
    torch.testing.assert_close(total, whole.losses["imitation"], rtol=1e-9, atol=0)


def test_the_decider_learns_and_the_core_does_not_learn_from_it() -> None:
    model = trained_model()
    model(**training_batch(model)).losses["imitation"].backward()
    assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in model.policy.parameters())
    assert all(parameter.grad is None for parameter in model.model.parameters())
    joint = trained_model({"detach": False})
    joint(**training_batch(joint)).losses["imitation"].backward()
    assert joint.model.embed_tokens.weight.grad.abs().sum() > 0


def test_the_logged_answer_is_that_of_the_exit() -> None:
    model = trained_model()
    batch = training_batch(model)
    out = model(**batch)
    assert (out.executed == 5).all() and len(set(out.exit_depth.flatten().tolist())) > 1
    depth = out.exit_depth
    model.eval()
    for d in depth.unique().tolist():
        there = model(batch["input_ids"], exit_depth=d).logits
        torch.testing.assert_close(out.logits[depth == d], there[depth == d], rtol=0, atol=1e-9)


@pytest.mark.parametrize("options", [{}, {"floor": 2}], ids=["every", "floor"])
def test_both_executions_agree(options: dict[str, Any]) -> None:
    case = case_of({"name": "think-at-hard", **options}, padded=True, settings={"threshold": 0.6})
    whole = assert_all_ways_agree(case)
    assert_own_depths_forced_change_nothing(case)
    assert int(whole.executed[case.valid].min()) == options.get("floor", 1)


def test_one_decision_sends_who_goes_on_to_the_end() -> None:
    case = case_of({"name": "think-at-hard", "decide": "first"}, num_depths=2)
    whole = assert_all_ways_agree(case)
    assert set(whole.executed.flatten().tolist()) == {1, 5}
    assert_own_depths_forced_change_nothing(case)


def test_decisions_are_counted_from_the_floor_on() -> None:
    executed = torch.tensor([1, 2, 3, 5])
    assert trained_model({"floor": 2}).policy.num_decisions(executed, 5).tolist() == [0, 1, 2, 3]
    assert trained_model({"decide": "first"}).policy.num_decisions(executed, 5).tolist() == [1, 1, 1, 1]
    assert trained_model().policy.num_decisions(executed, 1).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("options", "message"),
    [({"floor": 0}, "everyone runs once"), ({"floor": 6}, "beyond the model's"), ({"weight": -1.0}, "weight")],
)
def test_nonsense_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        trained_model(options)
