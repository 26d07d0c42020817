"""PonderNet (Banino, Balaguer and Blundell 2021, sections 2.1 to 2.3): hazards, and the expectation of the losses.

Training: the loss of a token is sum_d q(d) CE(d), the expectation of the losses (not the loss of a mean prediction),
plus gamma KL(q || prior). Everyone runs all D iterations and nobody is frozen, so that a model sees keys of shallow
exits for the first time when it exits for real: report real and virtual exits.

Memory: all D states are kept and go through coda and head, so activations of coda and logits are D times those of
ANIRA-O.

What was decided:
- The prior is the paper's geometric one with lambda_p = 1 - 1/base, renormalised on 1 .. D (of lambda_p = .2 a quarter
  of the mass lies beyond D = 6). It is the prior of ANIRA-O, and the divergence is the same function of q. gamma is the
  paper's beta.
- KL(q || prior), as the paper writes it; a widely copied implementation computes the reverse.
- The regulariser is a mean over valid tokens, the expected cross-entropy over answers, as for ANIRA.
- Exits: the paper samples them (pass `noise` outside of training); by default the median decides, because sampling
  costs accuracy (Balagansky and Gavrilov 2022).
"""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from anira.models.policies.decider import Decider
from anira.models.policies.hazards import UnrolledPolicy, UnrolledState, compute_loss
from anira.models.policies.options import check_compute_options
from anira.models.policies.task_loss import TaskLoss


@dataclass(frozen=True, kw_only=True)
class PonderNetOptions:
    """Options of PonderNet; the defaults are the paper's."""

    gamma: float = 0.01
    """Weight of the divergence from the prior."""
    base: float = 1.25
    """The prior over depths is proportional to base^-d: geometric with lambda_p = 1 - 1/base."""
    bias: float = 0.0
    """Initial bias of the halting logit; negative values start deep."""
    detach: bool = False
    """Cut the gradient from the decider into the core."""
    zero_start: bool = False
    """Start with a last matrix of zeros: the first halt_prob is the same for every token, that of the bias."""

    def __post_init__(self) -> None:
        check_compute_options(self.gamma, self.base)


class PonderNet(UnrolledPolicy):
    """Hazards of the state after each iteration; the expected loss in training, the median otherwise."""

    name = "pondernet"
    Options = PonderNetOptions

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        options = self.options
        self.decider = Decider(config, 1, detach=options.detach, bias=options.bias, zero=options.zero_start)
        self.noise_width = 1

    def loss(self, state: UnrolledState, task: TaskLoss) -> dict[str, Tensor]:
        """Return gamma times the mean KL to the prior over valid tokens."""
        return compute_loss(state.log_probs(), self.options.gamma, self.options.base, task)
