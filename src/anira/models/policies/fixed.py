"""Fixed depth: the recurrent baseline, and (with an unshared core) the plain transformer."""

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from anira.models.policies.base import Allocation, ComputePolicy, Context, Route, State


@dataclass(frozen=True, kw_only=True)
class FixedOptions:
    """Nothing to choose: every token gets the model's max_depth."""


@dataclass
class FixedState(State):
    """The depth that everyone gets, as a tensor of the tokens' shape."""

    exit_depth: Int[Tensor, "*tokens"]


class Fixed(ComputePolicy):
    """Every token runs every iteration."""

    name = "fixed"
    Options = FixedOptions
    timing = "none"
    beyond_max_depth = True

    def begin(self, h0: Tensor, ctx: Context) -> FixedState:
        """Note the depth on offer."""
        return FixedState(torch.full_like(ctx.positions, ctx.max_depth))

    def route(self, depth: int, h: Tensor, state: FixedState) -> Route:
        """Run everyone."""
        return Route(run=state.exit_depth >= depth)

    def allocation(self, state: FixedState) -> Allocation:
        """Return the constant depth."""
        return Allocation(state.exit_depth)
