"""Hugging Face's Trainer: its sums over parts of a batch, its seeds, its checkpoints."""

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.models_support import random_ids, random_model, small_config
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainerCallback, TrainingArguments
from transformers.utils import logging as hf_logging

from anira.models import AniraForCausalLM, uniform_noise

hf_logging.disable_progress_bar()


def float32_model(policy: str, **changes: Any) -> AniraForCausalLM:
    return random_model(small_config(policy, **changes)).float().train()


def rows_of(ids: Tensor) -> list[dict[str, Tensor]]:
    return [{"input_ids": row, "labels": row} for row in ids]


def uneven_rows(width: int) -> list[dict[str, Tensor]]:
    """Return 8 rows of one length, padded, with 1 to 8 answer tokens, and their noise: the same however batched."""
    rows = []
    for i, ids in enumerate(random_ids(8, 12, seed=5)):
        length = 12 - i
        mask = torch.arange(12) < length
        labels = torch.where(mask & (torch.arange(12) >= length - 1 - i % 4), ids, -100)
        row = {"input_ids": ids, "attention_mask": mask.long(), "labels": labels}
        if width:
            place = {"rows": torch.tensor([i]), "positions": torch.arange(12)}
            row["noise"] = uniform_noise(seed=0, step=0, **place, width=width)[0]
        rows.append(row)
    return rows


def trainer_for(model: torch.nn.Module, rows: list[Any], folder: Path, **changes: Any) -> Trainer:
    arguments = {"max_steps": 1, "per_device_train_batch_size": len(rows), "learning_rate": 1e-2, **changes}
    settings = TrainingArguments(
        output_dir=str(folder),
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
        **{"save_strategy": "no", "optim": "sgd", "max_grad_norm": 0.0, **arguments},
    )
    return Trainer(model=model, args=settings, train_dataset=rows)


def changes_of(model: torch.nn.Module, before: torch.nn.Module) -> Tensor:
    pairs = zip(model.parameters(), before.parameters(), strict=True)
    return torch.cat([(new - old).detach().flatten() for new, old in pairs])


@pytest.mark.parametrize("policy", ["anira-e", "anira-o", "fixed", "similarity"])
def test_one_step_of_the_trainer(policy: str, tmp_path: Path) -> None:
    model, ids = float32_model(policy), random_ids(4, 10)
    before = copy.deepcopy(model)
    trainer_for(model, rows_of(ids), tmp_path).train()
    changed = [not torch.equal(p, q) for p, q in zip(model.parameters(), before.parameters(), strict=True)]
    assert all(changed)


@pytest.mark.parametrize("policy", ["anira-e", "anira-o", "fixed"])
def test_accumulation_does_not_change_the_update(policy: str, tmp_path: Path) -> None:
    """Eight uneven rows at once, in four parts of two and in eight of one."""
    updates = []
    for size in (8, 2, 1):
        model = float32_model(policy)
        before, rows = copy.deepcopy(model), uneven_rows(model.policy.noise_width)
        sizes = {"per_device_train_batch_size": size, "gradient_accumulation_steps": 8 // size}
        trainer_for(model, rows, tmp_path, **sizes).train()
        updates.append(changes_of(model, before))
    for update in updates[1:]:
        assert (update - updates[0]).norm() < 1e-4 * updates[0].norm()


def test_the_loss_of_the_trainer_is_a_stock_models(tmp_path: Path) -> None:
    """With fixed depth there is cross-entropy alone, and it is divided as in transformers' own models."""
    ours, rows = float32_model("fixed", shared_core=False), uneven_rows(0)
    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_attention_heads": 2, "vocab_size": 20}
    stock = LlamaForCausalLM(LlamaConfig(**sizes, num_hidden_layers=7, pad_token_id=0))
    parts = [("embed_tokens", ours.model.embed_tokens), ("norm", ours.model.norm)]
    layers = (*ours.model.prelude, *ours.model.core, *ours.model.coda)
    parts += [(f"layers.{i}", layer) for i, layer in enumerate(layers)]
    for name, part in parts:
        stock.model.get_submodule(name).load_state_dict(part.state_dict())
    stock.lm_head.load_state_dict(ours.lm_head.state_dict())
    losses = [
        trainer_for(model, rows, tmp_path, per_device_train_batch_size=2, gradient_accumulation_steps=4)
        .train()
        .training_loss
        for model in (ours, stock)
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


def trained(
    folder: Path, *, seed: int = 0, resume: str | None = None, callbacks: Sequence[Any] = (), **changes: Any
) -> Tensor:
    """Return the weights after four steps of sampled depths."""
    model = float32_model("anira-o")
    options = {"max_steps": 4, "per_device_train_batch_size": 4, "seed": seed, "optim": "adamw_torch", **changes}
    trainer = trainer_for(model, rows_of(random_ids(16, 9)), folder, **options)
    for callback in callbacks:
        trainer.add_callback(callback)
    trainer.train(resume_from_checkpoint=resume)
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


class StopAtTwo(TrainerCallback):
    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> Any:
        control.should_training_stop = state.global_step == 2
        return control


def test_seeds_decide_the_noise(tmp_path: Path) -> None:
    first, again = (trained(tmp_path, seed=0) for _ in range(2))
    assert torch.equal(first, again)
    # Another order of the data and other noise: data_seed keeps the order, so that noise alone is left.
    one, other = (trained(tmp_path, seed=seed, data_seed=7) for seed in (0, 1))
    assert not torch.equal(one, other)


def test_a_resumed_run_draws_the_noise_it_would_have_drawn(tmp_path: Path) -> None:
    saving = {"save_strategy": "steps", "save_steps": 2}
    whole = trained(tmp_path / "whole", **saving)
    trained(tmp_path / "part", callbacks=[StopAtTwo()], **saving)
    torch.manual_seed(99)
    resumed = trained(tmp_path / "part", resume=str(tmp_path / "part" / "checkpoint-2"), **saving)
    assert torch.equal(resumed, whole)
