"""Nulls: depths that know nothing of difficulty, and full depth with supervision at every depth.

What a claim about a policy is to be compared with; no paper has them in this form. `random` spends the same compute
blindly, `position` and `token-type` know where a token stands and which it is, and nothing else, `deep-supervised`
answers at every depth and always runs all of them.

- `random` draws from `ctx.noise` in training. Without noise its numbers are a hash of seed, row of the batch and
  position, the same in both executions. A row therefore gets other depths in another place of the batch. With per =
  "position" it does not; but all rows then share one table of positions, which is no null of claims about instances
  whose length is their difficulty.
- `position` counts as the model does: with random offsets in training (max_offset) its table is shifted by them.
- Depths beyond those on offer are cut.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from anira.config import UserError
from anira.models.exits import round_half_up
from anira.models.noise import token_noise
from anira.models.policies.base import Allocation, ComputePolicy, Context, Readout, Route, State, passthrough


@dataclass
class TableState(State):
    """The depth of every token."""

    exit_depth: Int[Tensor, "*tokens"]


class _Table(ComputePolicy):
    """Depths that are known before the first iteration, for nothing."""

    timing = "early"

    @abstractmethod
    def depths(self, ctx: Context) -> Int[Tensor, "*tokens"]:
        """Return the depth of every token."""

    def begin(self, h0: Tensor, ctx: Context) -> TableState:
        """Look the depths up."""
        return TableState(self.depths(ctx).clamp(1, ctx.max_depth))

    def route(self, depth: int, h: Tensor, state: TableState) -> Route:
        """Run the tokens whose depth is not reached."""
        return Route(state.exit_depth >= depth)

    def allocation(self, state: TableState) -> Allocation:
        """Return the depths."""
        return Allocation(state.exit_depth)

    def decision_flops(self) -> int:
        """Nothing is computed."""
        return 0

    def num_decisions(self, executed: Int[Tensor, "*tokens"], max_depth: int) -> Int[Tensor, "*tokens"]:
        """Nothing is decided."""
        return torch.zeros_like(executed)


@dataclass(frozen=True, kw_only=True)
class RandomOptions:
    """Options of random depths."""

    probs: tuple[float, ...] = ()
    """Probability of each depth from 1 to max_depth, such as the marginal of a trained policy; empty: uniform."""
    seed: int = 0
    """Of the numbers by which depths are drawn outside of training."""
    per: Literal["token", "position"] = "token"
    """Whether depths depend on the token as well, or on its position alone."""

    def __post_init__(self) -> None:
        if self.probs and (min(self.probs) < 0 or abs(sum(self.probs) - 1) > 1e-6):
            raise UserError(f"probs must not be negative and must sum to 1, not to {sum(self.probs):g}")


class Random(_Table):
    """Every token's depth is drawn on its own, from one distribution."""

    name = "random"
    Options = RandomOptions
    noise_width = 1

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        probs = self.options.probs or [1 / config.max_depth] * config.max_depth
        if len(probs) != config.max_depth:
            raise UserError(f"probs must have one number for each depth up to {config.max_depth}, not {len(probs)}")
        sums = torch.tensor(probs, dtype=torch.float64, device="cpu").cumsum(0)
        self.bounds = tuple(sums[:-1].tolist())

    def depths(self, ctx: Context) -> Tensor:
        """Return one more than the number of depths whose cumulative probability the number exceeds."""
        if ctx.noise is not None:
            uniform = ctx.noise[..., 0]
        else:
            # By what the token is, not by where its row stands in the batch: a row alone gets the same depths.
            rows = torch.zeros_like(ctx.rows) if self.options.per == "position" or ctx.ids is None else ctx.ids
            uniform = token_noise(seed=self.options.seed, rows=rows, positions=ctx.positions)
        # A loop over constants: a table would have to follow the model to its device.
        depths = torch.ones_like(ctx.positions)
        for bound in self.bounds:
            depths = depths + (uniform > bound)
        return depths


@dataclass(frozen=True, kw_only=True)
class PositionOptions:
    """Options of depths by position: a table, or a line where there is none."""

    depths: tuple[int, ...] = ()
    """Depth of each position from 0 on; later ones get the last."""
    start: float = 1.0
    """Depth of position 0, without a table."""
    slope: float = 0.4
    """What each position adds, without a table; rounded, halves upwards."""

    def __post_init__(self) -> None:
        _check_depths(self.depths)


class Position(_Table):
    """Depth is a function of the position."""

    name = "position"
    Options = PositionOptions

    def depths(self, ctx: Context) -> Tensor:
        """Return what table or line say."""
        if self.options.depths:
            return _looked_up(ctx.positions, self.options.depths)
        return round_half_up(self.options.start + self.options.slope * ctx.positions.double()).long()


@dataclass(frozen=True, kw_only=True)
class TokenTypeOptions:
    """Options of depths by token: a table, or one drawn at random where there is none."""

    depths: tuple[int, ...] = ()
    """Depth of each token of the vocabulary; later ones get the last."""
    seed: int = 0
    """Of the depths, uniform up to max_depth, that tokens have without a table."""

    def __post_init__(self) -> None:
        _check_depths(self.depths)


class TokenType(_Table):
    """Depth is a function of the token that is read."""

    name = "token-type"
    Options = TokenTypeOptions

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.max_depth = config.max_depth

    def depths(self, ctx: Context) -> Tensor:
        """Return what the table says."""
        if ctx.ids is None:
            raise UserError("policy 'token-type' sets depth by the token: call the model with input_ids")
        if self.options.depths:
            return _looked_up(ctx.ids, self.options.depths)
        uniform = token_noise(seed=self.options.seed, rows=torch.zeros_like(ctx.ids), positions=ctx.ids)
        most: int = self.max_depth
        return 1 + (uniform * most).long()


def _check_depths(depths: Sequence[int]) -> None:
    if depths and min(depths) < 1:
        raise UserError(f"depths must be at least 1, not {min(depths)}")


def _looked_up(index: Int[Tensor, "*tokens"], depths: Sequence[int]) -> Int[Tensor, "*tokens"]:
    table = torch.tensor(list(depths), device=index.device)
    return table[index.clamp(max=len(depths) - 1)]


@dataclass(frozen=True, kw_only=True)
class DeepSupervisedOptions:
    """Nothing to choose: all depths count alike."""


@dataclass
class DeepSupervisedState(State):
    """The depth that everyone gets, and in training the states so far."""

    exit_depth: Int[Tensor, "*tokens"]
    states: list[Float[Tensor, "*tokens dim"]] | None


class DeepSupervised(ComputePolicy):
    """Every token runs every iteration; in training the state after each one is read out, with equal weights."""

    name = "deep-supervised"
    Options = DeepSupervisedOptions
    timing = "none"
    beyond_max_depth = True

    def begin(self, h0: Tensor, ctx: Context) -> DeepSupervisedState:
        """Note the depth on offer."""
        return DeepSupervisedState(torch.full_like(ctx.positions, ctx.max_depth), [] if ctx.training else None)

    def route(self, depth: int, h: Tensor, state: DeepSupervisedState) -> Route:
        """Run everyone."""
        return Route(state.exit_depth >= depth)

    def update(self, depth: int, h: Tensor, candidate: Tensor, route: Route, state: DeepSupervisedState) -> Tensor:
        """Merge, and in training keep the state."""
        after = passthrough(h, candidate, route)
        if state.states is not None:
            state.states.append(after)
        return after

    def readout(self, h: Tensor, state: DeepSupervisedState) -> Readout:
        """Return all states in training, the last one otherwise."""
        if state.states is None:
            return super().readout(h, state)
        states = torch.stack(state.states)
        return Readout(states, torch.full_like(states[..., 0], 1 / len(states)))

    def allocation(self, state: DeepSupervisedState) -> Allocation:
        """Return the constant depth."""
        return Allocation(state.exit_depth)
