"""Adaptive computation time (Graves 2016, section 2), one halting unit per token instead of one per input of an RNN.

After each iteration the halting unit reads the new state. What it does with the mass, the mixture that is read out,
the ponder cost and the start of training are in halting_mass.py. There is no sampling: training and evaluation are
the same function, and halted tokens are frozen in both.

What was decided:
- Graves mixes outputs and states alike. Here the mixture goes to the coda, and keys and values of a halted token come
  from its last state: a mixture was never an input of the core.
- The halting unit is ANIRA's decider instead of a linear one, for parity.
- The ponder cost is a mean over valid tokens, and the warm-up of gamma applies to it.
- The mean depth under the weights is reported as expected_depth. The weights are no exit distribution, so none is.
"""

from torch import Tensor

from anira.models.policies.base import Context, Route, passthrough
from anira.models.policies.halting_mass import MassOptions, MassPolicy, MassState


class Act(MassPolicy):
    """Halting mass from the state after each iteration; the readout is the mixture of all states."""

    name = "act"
    Options = MassOptions

    def begin(self, h0: Tensor, ctx: Context) -> MassState:
        """Start without any mass."""
        return MassState.start(h0, ctx)

    def route(self, depth: int, h: Tensor, state: MassState) -> Route:
        """Run who has mass left to give."""
        return Route(state.alive)

    def update(self, depth: int, h: Tensor, candidate: Tensor, route: Route, state: MassState) -> Tensor:
        """Merge, then weigh the new state by itself."""
        h = passthrough(h, candidate, route)
        halt_prob = self.halt_prob(h) if depth < state.max_depth else None
        state.weigh(depth, halt_prob, self.options.epsilon)
        state.mix(h)
        return h
