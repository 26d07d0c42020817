"""Two compute policies as somebody outside the package would write them: a class, a registration, nothing else.

`Similarity` is an exit policy with an online rule of its own. `Gates` skips single iterations, so that a token may
run none at all, or the first and the third. Importing this module registers both.
"""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from anira.models import register_policy
from anira.models.exits import at_least_float32, straight_through
from anira.models.policies import Allocation, ComputePolicy, Context, Route, State, TaskLoss, passthrough


@dataclass(frozen=True, kw_only=True)
class SimilarityOptions:
    threshold: float = 0.98
    """Initial cosine above which a token halts."""
    sharpness: float = 8.0
    """Slope of the sigmoid that stands in for the threshold in the gradient."""
    price: float = 0.01
    see: Literal["all", "running"] = "all"
    """Whether tokens that have halted can still be seen."""


@dataclass
class SimilarityState(State):
    alive: Tensor
    exit_depth: Tensor
    survival: Tensor
    """Product of the relaxed decisions to go on."""
    soft_depth: Tensor


@register_policy
class Similarity(ComputePolicy):
    """Halt once a learned view of the state has stopped turning: its cosine with the one before exceeds a threshold."""

    name = "similarity"
    Options = SimilarityOptions
    timing = "online"
    beyond_max_depth = True

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.view = nn.Linear(config.hidden_size, 3, bias=False)
        self.threshold = nn.Parameter(torch.tensor(self.options.threshold))

    def begin(self, h0: Tensor, ctx: Context) -> SimilarityState:
        one = torch.ones_like(at_least_float32(h0[..., 0]))
        return SimilarityState(one.bool(), torch.zeros_like(ctx.positions), one, torch.zeros_like(one))

    def route(self, depth: int, h: Tensor, state: SimilarityState) -> Route:
        weight = straight_through(state.alive.to(state.survival.dtype), state.survival)
        return Route(state.alive, weight, state.alive if self.options.see == "running" else None)

    def update(self, depth: int, h: Tensor, candidate: Tensor, route: Route, state: SimilarityState) -> Tensor:
        after = passthrough(h, candidate, route)
        old, new = (self.view(at_least_float32(x)) for x in (h, after))
        turned = self.threshold - torch.cosine_similarity(old, new, dim=-1)
        state.exit_depth = torch.where(state.alive, depth, state.exit_depth)
        state.soft_depth = state.soft_depth + state.survival
        state.survival = state.survival * torch.sigmoid(self.options.sharpness * turned)
        state.alive = state.alive & (turned >= 0)
        return after

    def loss(self, state: SimilarityState, task: TaskLoss) -> dict[str, Tensor]:
        return {"price": self.options.price * task.mean_over_valid(state.soft_depth)}

    def allocation(self, state: SimilarityState) -> Allocation:
        return Allocation(state.exit_depth)

    def decision_flops(self) -> int:
        return 2 * self.view.in_features * self.view.out_features

    def num_decisions(self, executed: Tensor, max_depth: int) -> Tensor:
        return executed


@dataclass(frozen=True, kw_only=True)
class GatesOptions:
    level: float = 0.5
    see: Literal["all", "running"] = "all"
    """Whether tokens that skip an iteration can be seen in it."""


@dataclass
class GatesState(State):
    exit_depth: Tensor


@register_policy
class Gates(ComputePolicy):
    """Each iteration has a gate; a token runs it if its gate is open, and the gate scales the update."""

    name = "gates"
    Options = GatesOptions
    timing = "route"

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.gates = nn.Linear(config.hidden_size, config.max_depth)

    def begin(self, h0: Tensor, ctx: Context) -> GatesState:
        return GatesState(torch.zeros_like(ctx.positions))

    def route(self, depth: int, h: Tensor, state: GatesState) -> Route:
        gate = torch.sigmoid(self.gates(at_least_float32(h))[..., depth - 1])
        run = gate > self.options.level
        return Route(run, see=run if self.options.see == "running" else None, gate=gate)

    def update(self, depth: int, h: Tensor, candidate: Tensor, route: Route, state: GatesState) -> Tensor:
        state.exit_depth = torch.where(route.run, depth, state.exit_depth)
        return passthrough(h, candidate, route)

    def allocation(self, state: GatesState) -> Allocation:
        return Allocation(state.exit_depth)

    def decision_flops(self) -> int:
        return 2 * self.gates.in_features

    def num_decisions(self, executed: Tensor, max_depth: int) -> Tensor:
        return torch.full_like(executed, max_depth)
