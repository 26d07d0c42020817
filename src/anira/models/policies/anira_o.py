"""ANIRA-O: a halting decision after every iteration (paper, sections 3.1 and 3.2.3)."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from anira.models import exits
from anira.models.policies.base import Context, Route
from anira.models.policies.decider import Decider
from anira.models.policies.hazards import HazardPolicy, HazardState, compute_loss
from anira.models.policies.options import Lookahead, check_compute_options, looked_at
from anira.models.policies.task_loss import TaskLoss


@dataclass(frozen=True, kw_only=True)
class AniraOOptions:
    """Options of ANIRA-O."""

    gamma: float = 0.1
    """Weight of the compute regulariser."""
    base: float = 2.0
    """The prior over depths is proportional to base^-d."""
    bias: float = 0.0
    """Initial bias of the halting logit; negative values start deep."""
    detach: bool = False
    """Cut the gradient from the decider into the core."""
    lookahead: Lookahead = "full"
    """How far beyond the sampled exit the gradient looks: full (the paper's) or one iteration."""
    zero_start: bool = False
    """Start with a last matrix of zeros: the first halt_prob is the same for every token, that of the bias."""

    def __post_init__(self) -> None:
        check_compute_options(self.gamma, self.base)


class AniraO(HazardPolicy):
    """Hazards alpha(d) of the state after iteration d; depth by inverse CDF in training, by the median otherwise."""

    name = "anira-o"
    Options = AniraOOptions

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        options = self.options
        self.decider = Decider(config, 1, detach=options.detach, bias=options.bias, zero=options.zero_start)
        self.noise_width = 1

    def begin(self, h0: Tensor, ctx: Context) -> HazardState:
        """Start with all the mass and everyone alive."""
        return HazardState.start(h0, ctx, ctx.noise, probs=ctx.probs)

    def route(self, depth: int, h: Tensor, state: HazardState) -> Route:
        """Run who is alive. In training the gradient goes through r(d-1), the probability of being alive."""
        if state.log_v is None or depth == 1:
            return Route(state.alive)
        soft = looked_at(state.log_r.exp(), depth, state.exit_depth, self.options.lookahead)
        return Route(state.alive, exits.straight_through(state.alive.to(soft.dtype), soft))

    def loss(self, state: HazardState, task: TaskLoss) -> dict[str, Tensor]:
        """Return gamma times the mean KL to the prior over valid tokens."""
        return compute_loss(state.log_probs(), self.options.gamma, self.options.base, task)
