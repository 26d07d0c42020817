"""Decoding one call at a time: feed tokens, look at logits and depths, decide yourself what comes next."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from anira.inference.cost import Cost, forward_cost
from anira.models import AniraForCausalLM, AniraOutput, DepthCache


@dataclass(frozen=True)
class Step:
    """What one call of `Stepwise.feed` gave, for the tokens of that call."""

    logits: Float[Tensor, "batch vocab"]
    """Of the next token."""
    exit_depth: Int[Tensor, "batch time"]
    executed: Int[Tensor, "batch time"]
    exit_log_probs: Float[Tensor, "batch time depth"] | None


class Stepwise:
    """A generation in progress.

    >>> from anira.models import AniraConfig
    >>> model = AniraForCausalLM(AniraConfig(vocab_size=9, hidden_size=16, intermediate_size=32, num_attention_heads=2))
    >>> session = Stepwise(model.eval())
    >>> session.feed(torch.tensor([[1, 2, 3]])).exit_depth.shape
    torch.Size([1, 3])
    >>> session.feed(torch.tensor([[4]])).logits.shape, session.cost().tokens
    (torch.Size([1, 9]), 4)
    """

    def __init__(
        self,
        model: AniraForCausalLM,
        *,
        select: str | None = None,
        threshold: float | None = None,
        max_depth: int | None = None,
    ) -> None:
        self.model = model
        self.cache = DepthCache(model.config)
        self.select, self.threshold, self.max_depth = select, threshold, max_depth
        self._executed: list[Tensor] = []

    @torch.no_grad()
    def feed(self, input_ids: Int[Tensor, "batch time"]) -> Step:
        """Run the model on the next tokens of every row."""
        output: AniraOutput = self.model(
            input_ids,
            past_key_values=self.cache,
            select=self.select,
            threshold=self.threshold,
            max_depth=self.max_depth,
            output_exit_probs=True,
            logits_to_keep=1,
        )
        assert output.logits is not None and output.exit_depth is not None and output.executed is not None
        self._executed.append(output.executed)
        return Step(output.logits[:, -1], output.exit_depth, output.executed, output.exit_log_probs)

    def cost(self) -> Cost:
        """Return what has been spent so far."""
        executed = torch.cat(self._executed, dim=1)
        return forward_cost(self.model.config, self.model.policy, executed, max_depth=self.max_depth)
