"""Decoding one call at a time: feed tokens, look at logits and depths, decide yourself what comes next."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from anira.inference.cost import Cost, forward_cost
from anira.models import AniraForCausalLM, AniraOutput, DepthCache
from anira.models.cache import KeyValueRule


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
        exits: Literal["real", "virtual"] | None = None,
        exit_depth: int | None = None,
        kv: KeyValueRule = "exact",
    ) -> None:
        self.model = model
        self.cache = DepthCache(model.config, kv=kv)
        self.select, self.threshold, self.max_depth, self.exits = select, threshold, max_depth, exits
        self.exit_depth = exit_depth
        self._outputs: list[AniraOutput] = []

    @torch.no_grad()
    def feed(self, input_ids: Int[Tensor, "batch time"]) -> Step:
        """Run the model on the next tokens of every row."""
        output: AniraOutput = self.model(
            input_ids,
            past_key_values=self.cache,
            select=self.select,
            threshold=self.threshold,
            max_depth=self.max_depth,
            exits=self.exits,
            exit_depth=self.exit_depth,
            output_exit_probs=self.exit_depth is None,
            logits_to_keep=1,
        )
        assert output.logits is not None and output.exit_depth is not None and output.executed is not None
        self._outputs.append(AniraOutput(executed=output.executed, ran=output.ran, hides=output.hides))
        return Step(output.logits[:, -1], output.exit_depth, output.executed, output.exit_log_probs)

    @property
    def executed(self) -> Int[Tensor, "batch time"]:
        """How many iterations every token so far has executed."""
        return torch.cat([output.executed for output in self._outputs if output.executed is not None], dim=1)

    def cost(self) -> Cost:
        """Return what has been spent so far."""
        policy = self.model.policy
        ran = [output.ran for output in self._outputs if output.ran is not None]
        return forward_cost(
            self.model.config,
            policy.for_rule(policy.rule(self.select, self.threshold).select),
            self.executed,
            max_depth=self.max_depth,
            ran=torch.cat(ran, dim=1) if ran else None,
            hides=any(output.hides for output in self._outputs),
        )
