"""The Universal Transformer with ACT per position (Dehghani et al. 2019, sections 2.1 and 2.2).

It differs from ACT (act.py, halting_mass.py) in two ways: the halting unit reads the state before an iteration, so that
its weight is known before it runs; and every iteration adds a timestep signal to the state.

What was decided:
- The mixture is Graves' mean field. The default of the released code (tensor2tensor) builds y(n) = w(n) s(n) + (1 -
  w(n)) y(n-1) instead, with a misplaced bracket besides, whose weights do not add up to 1.
- after_halting: in the text the state of a halted position is copied ("freeze"); in the code it goes on being
  transformed and only the mixture stops ("evolve"). Then everyone executes all iterations, executed is max_depth,
  nothing is saved, and exit_depth says where the mixture stopped. Forced depths end both.
- The signal is the sinusoid of the iteration's number, times a learned scale: states here start far below the unit
  scale of the paper's. The halting unit sees it. Iteration 1 gets none, because a policy meets the state after it has
  entered the core; the prelude, which the paper has not, can add any constant itself. Positions are the rotary
  embedding's business.
- A token that is known to halt gets no signal of a next iteration: its frozen state is what the last one returned.
"""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from anira.config import UserError
from anira.models.host import looking_is_free
from anira.models.policies.base import Context, Route, passthrough
from anira.models.policies.halting_mass import MassOptions, MassPolicy, MassState


@dataclass(frozen=True, kw_only=True)
class UniversalOptions(MassOptions):
    """Options of the Universal Transformer."""

    after_halting: Literal["freeze", "evolve"] = "freeze"
    """Whether the state of a halted token stays (the paper's text), or is transformed on (its code: saves nothing)."""
    signal: float = 0.1
    """Initial scale of the timestep signal, which is learned; 0 starts without one."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.signal < 0:
            raise UserError(f"signal must be at least 0, not {self.signal}")


@dataclass
class UniversalState(MassState):
    """The mass, and whether iterations go on for everyone."""

    everyone: bool


class Universal(MassPolicy):
    """Halting mass from the state before each iteration, a timestep signal, the mixture as readout."""

    name = "universal"
    Options = UniversalOptions

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.scale = nn.Parameter(torch.tensor(float(self.options.signal)))

    def init_weights(self) -> None:
        """Start decider and signal as the options say."""
        super().init_weights()
        nn.init.constant_(self.scale, self.options.signal)

    def begin(self, h0: Tensor, ctx: Context) -> UniversalState:
        """Start without any mass."""
        evolve = self.options.after_halting == "evolve"
        return UniversalState.start(h0, ctx, stays_own=evolve, everyone=evolve or ctx.exits == "virtual")

    def route(self, depth: int, h: Tensor, state: UniversalState) -> Route:
        """Weigh the coming iteration, and run who has mass left to give; in "evolve" everyone."""
        run = torch.ones_like(state.alive) if self.options.after_halting == "evolve" else state.alive
        state.weigh(depth, self._halt_prob(depth, h, state), self.options.epsilon)
        return Route(run)

    def _halt_prob(self, depth: int, h: Tensor, state: UniversalState) -> Tensor | None:
        """Return the mass of the coming iteration; of a flat list only for those who run it."""
        if depth == state.max_depth:
            return None
        if state.everyone or h.dim() > 2 or not looking_is_free(h):
            return self.halt_prob(h)
        # The tokens that have just halted are still in the list: deciding about them would cost for nothing.
        running = state.alive.nonzero()[:, 0]
        return torch.zeros_like(state.mass).index_put((running,), self.halt_prob(h[running]))

    def update(self, depth: int, h: Tensor, candidate: Tensor, route: Route, state: UniversalState) -> Tensor:
        """Merge and mix, then add the signal of the next iteration for those who run it."""
        h = passthrough(h, candidate, route)
        state.mix(h)
        if depth == state.max_depth:
            return h
        runs = torch.ones_like(state.alive) if state.everyone else state.alive
        if state.forced_depth is not None:
            runs = state.forced_depth > depth
        signal = self.scale * timestep_signal(depth + 1, h.shape[-1], self.scale)
        return torch.where(runs.unsqueeze(-1), h + signal.to(h.dtype), h)


def timestep_signal(depth: int, width: int, like: Tensor) -> Float[Tensor, " width"]:
    """Return sines and cosines of an iteration's number, at wavelengths from 2 pi to 10,000 times that."""
    half = (width + 1) // 2
    rates = 10_000.0 ** (-torch.arange(half, dtype=like.dtype, device=like.device) / max(half - 1, 1))
    return torch.cat([torch.sin(depth * rates), torch.cos(depth * rates)])[:width]
