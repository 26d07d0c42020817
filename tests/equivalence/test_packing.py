"""Instances laid end to end: the losses and gradients of padded rows, without their padding."""

from typing import Any

import pytest
import torch
from tests.models_support import assert_same, noise_for, pick, random_ids, random_model, small_config
from torch import Tensor

from anira.config import UserError
from anira.models import AniraForCausalLM

LENGTHS = torch.tensor([9, 4, 1, 7])
CASES: list[tuple[str, dict[str, Any]]] = [
    ("anira-e", {}),
    ("anira-e", {"num_core_layers": 2, "num_coda_layers": 2, "injection": "concat-linear"}),
    ("anira-o", {"freeze": "kv", "num_coda_layers": 0}),
    ("anira-o", {"num_key_value_heads": 1, "injection": "add", "initial_state": "random"}),
    ("fixed", {"shared_core": False}),
    ("similarity-running", {}),
    ("gates", {"freeze": "kv"}),
    ("gates-running", {}),
]


def rows() -> dict[str, Tensor]:
    """Return padded rows with labels at some positions, never at the first one of an instance."""
    ids = random_ids(4, 9)
    valid = torch.arange(9) < LENGTHS[:, None]
    labels = torch.where(valid & (torch.arange(9) >= LENGTHS[:, None] // 2) & (torch.arange(9) > 0), ids, -100)
    return {"input_ids": ids, "labels": labels, "valid_mask": valid}


def packed(batch: dict[str, Tensor], noise: Tensor | None) -> dict[str, Any]:
    valid = batch["valid_mask"]
    labels = batch["labels"][valid]
    return {
        "input_ids": batch["input_ids"][valid][None],
        "labels": labels[None],
        "lengths": LENGTHS,
        "noise": None if noise is None else noise[valid][None],
        "logits_to_keep": (labels != -100).nonzero()[:, 0] - 1,
    }


def step(model: AniraForCausalLM, **batch: Any) -> tuple[Any, list[Tensor]]:
    model.zero_grad()
    out = model(**batch)
    out.loss.backward()
    return out, [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in model.parameters()]


@pytest.mark.parametrize(("policy", "backbone"), CASES)
@pytest.mark.parametrize("some", [False, True])
def test_a_packed_row_has_the_losses_and_gradients_of_padded_ones(
    policy: str, backbone: dict[str, Any], some: bool
) -> None:
    model, batch = random_model(small_config(policy, **backbone)).train(), rows()
    noise = noise_for(model, batch["input_ids"]) if model.policy.noise_width else None
    laid = packed(batch, noise)
    if not some:
        laid["logits_to_keep"] = 0
    plain, expected = step(model, **batch, noise=noise)
    row, found = step(model, **laid)
    torch.testing.assert_close(row.losses, plain.losses, rtol=0, atol=1e-12)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-11)
    valid = batch["valid_mask"]
    assert torch.equal(row.exit_depth[0], plain.exit_depth[valid])
    answers = (batch["labels"][:, 1:] != -100).nonzero(as_tuple=True)
    logits = plain.logits[answers] if some else plain.logits[valid]
    torch.testing.assert_close(row.logits[0], logits, rtol=0, atol=1e-12)


def test_instances_of_one_length_need_no_layout() -> None:
    model, ids = random_model(small_config("anira-e")), random_ids(3, 6)
    row = model(ids.reshape(1, -1), lengths=torch.tensor([6, 6, 6]))
    torch.testing.assert_close(row.logits.view(3, 6, -1), model(ids).logits, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("policy", "backbone"), CASES)
def test_a_packed_row_can_be_run_by_its_active_tokens(policy: str, backbone: dict[str, Any]) -> None:
    model, ids = random_model(small_config(policy, **backbone)), random_ids(4, 9)
    valid = torch.arange(9) < LENGTHS[:, None]
    plain, row = model(ids), model(ids[valid][None], lengths=LENGTHS, active=True)
    assert_same(pick(plain, valid), row)
    some = torch.tensor([3, 9, 20])
    part = model(ids[valid][None], lengths=LENGTHS, active=True, logits_to_keep=some)
    torch.testing.assert_close(part.logits, row.logits[:, some], rtol=0, atol=1e-12)


BAD = [
    ({"active": True, "valid_mask": torch.ones(1, 6)}, "not with valid_mask"),
    ({"active": True, "labels": random_ids(1, 6)}, "labels need the parallel graph"),
    ({"lengths": torch.tensor([3, 2])}, "sum to the 6 tokens"),
    ({"lengths": torch.tensor([6, 0])}, "at least 1"),
    ({"lengths": torch.tensor([6]), "attention_mask": torch.ones(1, 6)}, "without attention_mask"),
    ({"lengths": torch.tensor([6]), "use_cache": True}, "without a cache"),
    ({"lengths": torch.tensor([6]), "logits_to_keep": torch.tensor([2]), "labels": random_ids(1, 6)}, "leaves out"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_impossible_packings_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        random_model(small_config("anira-e"))(random_ids(1, 6), **arguments)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # torch's own tracing does it
def test_a_compiled_step_takes_packed_rows_of_any_length() -> None:
    model = random_model(small_config("anira-o", max_depth=2, num_prelude_layers=0)).train()
    # This backend takes the graph as it is. That it also works backwards shows a run (test_train_resume.py).
    compiled = torch.compile(model, dynamic=True, fullgraph=True, backend="eager")
    batch = rows()
    whole = packed(batch, noise_for(model, batch["input_ids"]))
    for first in (9, 6):  # the longest row decides about shapes
        kept = torch.arange(9 - first, 21)
        lengths = torch.tensor([first, 4, 1, 7])
        parts = {name: whole[name][:, kept] for name in ("input_ids", "labels", "noise")}
        parts["logits_to_keep"] = (parts["labels"][0, 1:] != -100).nonzero()[:, 0]
        arguments = {**parts, "lengths": lengths, "max_length": int(lengths.max())}
        plain, expected = step(model, **arguments)
        model.zero_grad()
        out = compiled(**arguments)
        out.loss.backward()
        found = [torch.zeros_like(p) if p.grad is None else p.grad for p in model.parameters()]
        torch.testing.assert_close(out.loss, plain.loss, rtol=0, atol=1e-12)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-11)
