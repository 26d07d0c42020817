"""Choosing the next token of each request, by its own options and its own random numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from anira.config import UserError
from anira.models.noise import token_noise


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How the next token is chosen; the defaults take the most likely one."""

    temperature: float = 0.0
    """0: the most likely token."""
    top_k: int | None = None
    """Only among so many of the most likely ones."""
    top_p: float = 1.0
    """Only among the most likely ones that have this probability together."""
    seed: int = 0
    """Token i of a request depends on its logits, this number and i, whatever else runs."""

    def __post_init__(self) -> None:
        if not self.temperature >= 0:
            raise UserError(f"temperature must not be negative, not {self.temperature}")
        if self.top_k is not None and self.top_k < 1:
            raise UserError(f"top_k must be at least 1, not {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise UserError(f"top_p must lie in (0, 1], not {self.top_p}")


def choose(
    logits: Float[Tensor, "requests vocab"], how: Sequence[Sampling], numbers: Sequence[int]
) -> Int[Tensor, " requests"]:
    """Return a token for each request; `numbers` says how many it has got already.

    >>> choose(torch.tensor([[0.0, 2.0], [3.0, 0.0]]), [Sampling(), Sampling(temperature=1.0, top_k=1)], [0, 0])
    tensor([1, 0])
    """
    chosen = logits.argmax(-1)
    drawn = [i for i, one in enumerate(how) if one.temperature > 0]
    if drawn:
        own = [how[i] for i in drawn]
        seeds, places = torch.tensor([one.seed for one in own]), torch.tensor([numbers[i] for i in drawn])
        uniform = token_noise(seed=0, rows=seeds, positions=places).to(logits.device)
        chosen[drawn] = _draw(logits[drawn], own, uniform)
    return chosen


def _draw(
    logits: Float[Tensor, "requests vocab"], how: Sequence[Sampling], uniform: Float[Tensor, " requests"]
) -> Int[Tensor, " requests"]:
    """Draw by the inverse of the distribution function, over tokens in the order of their probability."""

    def column(values: list[float]) -> Tensor:
        return torch.tensor(values, dtype=logits.dtype, device=logits.device)[:, None]

    scaled, order = (logits / column([one.temperature for one in how])).sort(-1, descending=True)
    probs = scaled.softmax(-1)
    rank = torch.arange(logits.shape[1], device=logits.device)
    few = rank < column([logits.shape[1] if one.top_k is None else one.top_k for one in how])
    likely = probs.cumsum(-1) - probs < column([one.top_p for one in how])
    mass = (probs * (few & likely)).cumsum(-1)
    place = (mass <= uniform[:, None].to(mass) * mass[:, -1:]).sum(-1, keepdim=True)
    return order.gather(1, place.clamp(max=logits.shape[1] - 1))[:, 0]
