"""The objective: cross-entropy on answer tokens, plus what the policy adds (paper, section 3.2.1)."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from anira.models.exits import at_least_float32
from anira.models.policies import ComputePolicy, TaskLoss

IGNORE = -100


@dataclass(frozen=True)
class Targets:
    """What the loss is measured against; counts are those of the global batch, or None for this one."""

    labels: Int[Tensor, "batch time"]
    valid: Bool[Tensor, "batch time"]
    num_answer_tokens: Tensor | float | None
    num_valid_tokens: Tensor | float | None
    gamma_scale: Tensor | float


def named_losses(
    policy: ComputePolicy,
    state: Any,
    logits: Float[Tensor, "states batch time vocab"],
    weights: Float[Tensor, "states batch time"],
    targets: Targets,
) -> dict[str, Tensor]:
    """Return the parts of the loss by name; their sum is the loss.

    The answer token at position t is predicted at t - 1: that is where its cross-entropy stands.
    """
    following = torch.cat([targets.labels[:, 1:], torch.full_like(targets.labels[:, :1], IGNORE)], dim=1)
    answers = following != IGNORE
    wide = at_least_float32(logits)
    ce = cross_entropy(
        wide.flatten(0, 2), following.expand(len(logits), -1, -1).flatten(), ignore_index=IGNORE, reduction="none"
    ).view(logits.shape[:-1])
    num_answers = answers.sum().clamp(min=1) if targets.num_answer_tokens is None else targets.num_answer_tokens
    num_valid = targets.valid.sum().clamp(min=1) if targets.num_valid_tokens is None else targets.num_valid_tokens
    task = TaskLoss(
        ce=ce,
        predicted=logits.argmax(-1),
        answer_mask=answers,
        valid=targets.valid,
        num_valid_tokens=num_valid,
        scale=targets.gamma_scale,
    )
    return {"ce": (weights * ce).sum() / num_answers, **policy.loss(state, task)}
