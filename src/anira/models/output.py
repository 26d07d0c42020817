"""What a forward call of the model returns."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from jaxtyping import Bool, Float, Int
from torch import Tensor
from transformers.utils.generic import ModelOutput

from anira.models.cache import DepthCache
from anira.models.static import StaticDepthCache


@dataclass
class AniraOutput(ModelOutput):
    """What a forward call returns; token-wise tensors are (batch, time) of the tokens of this call."""

    loss: Tensor | None = None
    """The sum of `losses`."""
    logits: Float[Tensor, "batch kept vocab"] | None = None
    past_key_values: DepthCache | StaticDepthCache | None = None
    hidden_states: tuple[Float[Tensor, "batch time dim"], ...] | None = None
    """On request: the prelude's output, the state after each iteration, and what the head reads (coda and norm)."""
    exit_depth: Int[Tensor, "batch time"] | None = None
    """The iteration whose state went to the coda; 0 at padding."""
    executed: Int[Tensor, "batch time"] | None = None
    """Iterations that were run; differs from exit_depth where an earlier state is read out (virtual exits)."""
    exit_log_probs: Float[Tensor, "batch time depth"] | None = None
    expected_depth: Float[Tensor, "batch time"] | None = None
    iteration_states: tuple[Float[Tensor, "batch time dim"], ...] | None = None
    """On request: the state before the first iteration and after each."""
    losses: dict[str, Tensor] | None = None
    ran: Bool[Tensor, "batch time depth"] | None = None
    """Who executed which iteration, for policies that skip some; else a token executes the first ones."""
    hides: bool | None = None
    """True if tokens that did not run an iteration were invisible in it."""
    mean_sums: dict[str, Tensor] | None = None
    """Sums over this part of what the policy's loss needs the mean of over the global batch."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Do what Hugging Face's does, without listing all fields anew for each one: a decoding step would notice."""
        if value is not None and name in self.__dataclass_fields__:
            OrderedDict.__setitem__(self, name, value)
        object.__setattr__(self, name, value)
