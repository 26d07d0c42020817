"""The objective: cross-entropy on answer tokens, plus what the policy adds (paper, section 3.2.1)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from anira.config import UserError
from anira.models.exits import at_least_float32
from anira.models.policies import ComputePolicy, TaskLoss
from anira.models.policies.task_loss import IGNORE


@dataclass(frozen=True)
class Targets:
    """What the loss is measured against; counts are those of the global batch, or None for this one."""

    labels: Int[Tensor, "batch time"]
    num_answer_tokens: Tensor | float | None
    num_valid_tokens: Tensor | float | None
    num_items_in_batch: Tensor | float | None
    """Answer tokens of the global batch as Hugging Face's Trainer counts them; it knows nothing of valid tokens."""
    gamma_scale: Tensor | float
    global_means: Mapping[str, Tensor] | None = None
    """What the policy's loss needs to know of the global batch, found by an earlier pass over all its parts."""

    def without(self, tokens: Bool[Tensor, "batch time"]) -> "Targets":
        """Return the same with nothing to learn at these tokens."""
        return replace(self, labels=self.labels.masked_fill(tokens, IGNORE))

    def sizes(
        self, answers: Bool[Tensor, "batch time"], valid: Bool[Tensor, "batch time"]
    ) -> tuple[Tensor | float, Tensor | float]:
        """Return what the sums over answers and over valid tokens are divided by.

        Told only how many answers the global batch has, each row's mean over its valid tokens counts as much as its
        answers: sums of parts then do not depend on how the batch was cut, and equal rows give the usual mean.
        """
        num_answers, num_valid = self.num_answer_tokens, self.num_valid_tokens
        if num_answers is None:
            num_answers = self.num_items_in_batch
        if num_valid is None and self.num_items_in_batch is not None:
            num_valid = valid.sum(1) * self.num_items_in_batch / answers.sum(1)  # infinite without answers
        if num_answers is None:
            num_answers = answers.sum().clamp(min=1)
        if num_valid is None:
            num_valid = valid.sum().clamp(min=1)
        return num_answers, num_valid


def named_losses(
    policy: ComputePolicy,
    state: Any,
    logits: Float[Tensor, "states batch kept vocab"],
    weights: Float[Tensor, "states batch time"],
    targets: Targets,
    valid: Bool[Tensor, "batch time"],
    kept: int | Int[Tensor, " kept"] = 0,
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return the parts of the loss by name, whose sum is the loss; and what the policy needs global means of, summed.

    The answer token at position t is predicted at t - 1: that is where its cross-entropy stands. `logits` may be those
    of some positions only, which must be all that predict an answer.
    """
    following = torch.cat([targets.labels[:, 1:], torch.full_like(targets.labels[:, :1], IGNORE)], dim=1)
    answers = following != IGNORE
    ce = _cross_entropy(logits, following[:, kept] if isinstance(kept, Tensor) else following)
    if isinstance(kept, Tensor):
        if not torch.compiler.is_compiling() and int(answers.sum()) > int(answers[:, kept].sum()):
            raise UserError("logits_to_keep leaves out positions that predict an answer token")
        ce = ce.new_zeros(weights.shape).index_copy(2, kept, ce)
    num_answers, num_valid = targets.sizes(answers, valid)
    task = TaskLoss(
        ce=ce,
        answer_mask=answers,
        valid=valid,
        num_valid_tokens=num_valid,
        num_answer_tokens=num_answers,
        targets=following,
        logits=logits,
        kept=kept if isinstance(kept, Tensor) else None,
        scale=targets.gamma_scale,
        known_means=targets.global_means,
    )
    return {"ce": (weights * ce).sum() / num_answers, **policy.loss(state, task)}, task.sums


def _cross_entropy(
    logits: Float[Tensor, "states batch kept vocab"], following: Int[Tensor, "batch kept"]
) -> Float[Tensor, "states batch kept"]:
    flat = following.expand(len(logits), -1, -1).flatten()
    ce = cross_entropy(at_least_float32(logits).flatten(0, 2), flat, ignore_index=IGNORE, reduction="none")
    return ce.view(logits.shape[:-1])
