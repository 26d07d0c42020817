"""Ouro (Zhu et al. 2025, "Scaling Latent Reasoning via Looped Language Models", section 3): a gate in two stages.

Stage 1 trains everything on sum_d q(d) CE(d) - beta H(q). The entropy is log D - KL(q || uniform): the regulariser is
that of PonderNet and ANIRA-O with base 1, and never rewards saving compute. Stage 2 trains the gate alone: the
probability of going on after iteration t is fitted, by binary cross-entropy, to sigmoid(steepness (I(t) - gain)),
where I(t) = max(0, CE(t-1) - CE(t)) is what iteration t has gained.

Training runs all D iterations for everyone and reads out D states, with the memory of D codas (see pondernet.py).

What was decided:
- Stage 2 is a run of its own: init_from names the run of stage 1 and frozen = "backbone" keeps the model as it is.
  These belong to the training configuration and are checked there; the options of a policy cannot know them. The loss
  of stage 2 reaches the gate only, and the cross-entropy reaches everything but the gate, whether or not it is frozen.
- looks = "back" is the paper's target: after iteration t go on if t has helped. "ahead" asks what is wanted, whether
  t + 1 will help. Looking back, the first gate has no target; the last iteration has no gate in either.
- Targets exist on answer tokens only, so stage 2 knows nothing of what compute on the prompt is good for.
- The paper's gate is a linear layer on the normed state (gate = "linear"); by default it is ANIRA's decider.
- The entropy is a mean over valid tokens, as ANIRA's regulariser; the warm-up of gamma applies to it.
- Exits are real by default. The released model computes all iterations and picks one: exits = "virtual".
- The released code trains on the mean of the logits if given labels; here the losses are averaged, as in the paper.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from jaxtyping import Float
from torch import Tensor, sigmoid
from torch.nn.functional import binary_cross_entropy_with_logits

from anira.config import UserError, later
from anira.models.policies.base import Readout
from anira.models.policies.decider import Decider
from anira.models.policies.hazards import LinearGate, UnrolledPolicy, UnrolledState
from anira.models.policies.rules import ThresholdRange
from anira.models.policies.task_loss import TaskLoss


@dataclass(frozen=True, kw_only=True)
class OuroOptions:
    """Options of Ouro."""

    stage: Literal[1, 2] = 1
    """1: everything by the expected loss; 2: the gate alone, by what each iteration gains."""
    beta: float = 0.1
    """Stage 1: weight of the entropy (the paper has .1, later .05)."""
    looks: Literal["back", "ahead"] = "back"
    """Stage 2: whether going on depends on the gain of the last iteration (the paper's) or of the next."""
    steepness: float = 50.0
    """Stage 2: slope of the target around `gain` (the paper's k)."""
    gain: float = 0.005
    """Stage 2: gain in nats at which going on is worth as much as stopping (the paper's gamma)."""
    gate: Literal["linear", "decider"] = "decider"
    """linear: one layer on the normed state, the paper's; decider: ANIRA's network."""
    bias: float = 0.0
    """Initial bias of the halting logit; negative values start deep."""
    detach: bool = False
    """Cut the gradient from the gate into the core; in stage 2 it is always cut."""
    zero_start: bool = False
    """Start with a last matrix of zeros: the first halt_prob is the same for every token, that of the bias."""
    threshold: float | None = later(None)
    """Cumulative probability at which a token exits unless the caller says otherwise; None: the median. 1: all run."""

    def __post_init__(self) -> None:
        if self.threshold is not None and not 0 < self.threshold <= 1:
            raise UserError(f"threshold must lie in (0, 1], not {self.threshold}")
        if self.beta < 0:
            raise UserError(f"beta must be at least 0, not {self.beta}")
        if self.steepness <= 0:
            raise UserError(f"steepness must be positive, not {self.steepness}")
        if self.gain < 0:
            raise UserError(f"gain must be at least 0, not {self.gain}")


class Ouro(UnrolledPolicy):
    """Hazards of the state after each iteration; exit where the cumulative probability reaches a quantile."""

    name = "ouro"
    Options = OuroOptions
    second_stage: ClassVar = {"policy.stage": 2, "frozen": "backbone"}

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        options = self.options
        least = 3 if options.looks == "back" else 2
        if options.stage == 2 and config.max_depth < least:
            raise UserError(f"stage 2 that looks {options.looks} has targets from max_depth {least} on: raise it")
        if options.threshold is not None:
            self.rules = {
                **self.rules,
                "quantile": ThresholdRange(low=0, high=1, open_low=True, default=options.threshold),
            }
            self.default_rule = "quantile"
        self.first_stage = "a gate of stage 1" if options.stage == 2 else ""
        start = {"detach": options.detach or options.stage == 2, "bias": options.bias, "zero": options.zero_start}
        self.decider = LinearGate(config, **start) if options.gate == "linear" else Decider(config, 1, **start)

    def readout(self, h: Tensor, state: UnrolledState) -> Readout:
        """Return the exit state; in training all states, in stage 2 with weights that teach the gate nothing."""
        readout = super().readout(h, state)
        return readout if self.options.stage == 1 else replace(readout, weights=readout.weights.detach())

    def loss(self, state: UnrolledState, task: TaskLoss) -> dict[str, Tensor]:
        """Return the entropy part of stage 1, or the gate's cross-entropy of stage 2, which needs all depths."""
        if self.options.stage == 1:
            log_q = state.log_probs()
            return {"entropy": self.options.beta * task.scale * task.mean_over_valid((log_q.exp() * log_q).sum(-1))}
        if state.states is None:
            return {}
        assert state.halt_logits is not None
        logits, targets = -state.halt_logits, self.targets(task.ce.detach())
        if self.options.looks == "back":
            logits, targets = logits[..., 1:], targets[..., :-1]
        losses = binary_cross_entropy_with_logits(logits, targets.to(logits.dtype), reduction="none")
        return {"gate": task.mean_over_answers(losses.mean(-1))}

    def targets(self, ce: Float[Tensor, "depth *tokens"]) -> Float[Tensor, "*tokens gains"]:
        """Return how much iterations 2 .. D speak for going on, from the cross-entropy at every depth."""
        gained = (ce[:-1] - ce[1:]).clamp(min=0)
        return sigmoid(self.options.steepness * (gained - self.options.gain)).movedim(0, -1)
