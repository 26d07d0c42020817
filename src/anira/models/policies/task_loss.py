"""What a policy's loss may know about the task's loss, token by token, and means over the global batch."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

IGNORE = -100


@dataclass(frozen=True, kw_only=True)
class TaskLoss:
    """What the task's loss looks like token by token; a policy's loss may read all of it.

    Everything stands at the position that predicts: the cross-entropy of the answer token at t is at t - 1.
    """

    ce: Float[Tensor, "states *tokens"]
    """Cross-entropy of every state that was read out, 0 where there is no answer token."""
    answer_mask: Bool[Tensor, "*tokens"]
    """Positions that predict an answer token."""
    valid: Bool[Tensor, "*tokens"]
    num_valid_tokens: Float[Tensor, " batch"] | Int[Tensor, ""] | Float[Tensor, ""] | float
    """Valid tokens of the global batch, so that parts of a batch add up to the loss of the whole.

    One number, or where only the answers of the global batch are known (Hugging Face's Trainer) one per row.
    """
    num_answer_tokens: Tensor | float = 1.0
    """Answer tokens of the global batch."""
    targets: Int[Tensor, "*tokens"] | None = None
    """What each position should predict, -100 where there is nothing to learn."""
    logits: Float[Tensor, "states batch kept vocab"] | None = None
    """Of every state that was read out, at the positions `kept`; None of those: at all positions."""
    kept: Int[Tensor, " kept"] | None = None
    scale: Tensor | float = 1.0
    """Multiplies the compute weight gamma; a schedule (warm-up) sets it."""
    known_means: Mapping[str, Tensor] | None = None
    """Means over the global batch that an earlier pass over all its parts has found."""
    sums: dict[str, Tensor] = field(default_factory=dict)
    """What `global_mean` was asked for, summed over this part."""

    def mean_over_valid(self, values: Float[Tensor, "*tokens"]) -> Float[Tensor, ""]:
        """Return the sum over valid tokens divided by their number in the global batch: this part's share of it."""
        return (values.masked_fill(~self.valid, 0.0).sum(-1) / self.num_valid_tokens).sum()

    def mean_over_answers(self, values: Float[Tensor, "*tokens"]) -> Float[Tensor, ""]:
        """Return the sum over positions that predict an answer, divided by their number in the global batch."""
        return values.masked_fill(~self.answer_mask, 0.0).sum() / self.num_answer_tokens

    def global_mean(self, name: str, values: Float[Tensor, "*tokens width"]) -> Float[Tensor, " width"]:
        """Return the mean of `values` over the valid tokens of the whole global batch, without gradient.

        For losses that are no sums over tokens, such as balancing: a product of two means differs between a batch
        and its parts. A policy that calls this sets `uses_global_means`, and training then goes over all parts of a
        batch once to find the means, before it computes any loss.
        """
        sums = torch.where(self.valid.unsqueeze(-1), values.detach(), 0.0).flatten(0, -2).sum(0)
        self.sums[name] = sums
        if self.known_means is not None:
            return self.known_means[name].to(sums)
        return sums / self.valid.sum().clamp(min=1)

    def predicted(self) -> Int[Tensor, "states *tokens"]:
        """Return the most likely token of every state that was read out, -1 where no logits were computed."""
        assert self.logits is not None
        found = self.logits.argmax(-1)
        if self.kept is None:
            return found
        shape = (len(found), *self.valid.shape)
        return torch.full(shape, -1, device=found.device).index_copy(2, self.kept, found)

    def log_probs(self) -> Float[Tensor, "states batch kept vocab"]:
        """Return the log-probabilities of all tokens, at the positions `kept`."""
        assert self.logits is not None
        return torch.log_softmax(self.logits.float() if self.logits.dtype.itemsize < 4 else self.logits, dim=-1)
