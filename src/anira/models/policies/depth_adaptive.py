"""The Depth-Adaptive Transformer (Elbayad, Gu, Grave and Auli 2020, sections 3 and 4): exits taught by an oracle.

decider: "multinomial" reads the whole distribution off the prelude's output (the paper: off the first block's);
"geometric" has a hazard after each iteration and exits at the first that reaches a threshold, .5; "confidence" exits
once the head's largest probability reaches a threshold, and learns nothing.

training: "aligned" averages the cross-entropy of all depths, with all tokens at the same depth in each term: D states
go through coda and head, and frozen tokens are first seen at evaluation (report virtual exits too). "mixed" draws an
exit for every token, uniformly, and copies its state upwards from there. The paper prefers aligned.

oracle: the exit that the decider is taught is argmax_n of LL(n) - price n ("likelihood"), or of [prediction right]
- price n ("correctness"); with sigma > 0 the first term is summed over neighbours t' with weight
exp(-(t - t')^2 / sigma), in training only. alpha weighs the cross-entropy of the decider with that exit.

What was decided:
- The oracle knows answer tokens only. A prompt token has no loss of its own, so its decider is taught nothing there and
  follows from what it shares with answers: what prompt compute is good for is invisible to this mechanism.
- Mixed: one path per step (the paper draws several). What depths beyond a drawn exit would have given is unknown, so
  the oracle teaches on tokens whose drawn exit is the last one, each with weight D. Noise outside of training draws
  exits in the same way.
- Confidence is that of the head alone, without the coda, and states are read out in the same way (the paper has no
  coda); one threshold for all depths, where the paper tunes one for each.
- Deciding once per sequence, the paper's other variant, is left out.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from anira.config import UserError
from anira.models import exits
from anira.models.policies.base import Allocation, ComputePolicy, Context, Readout, Route, State, passthrough
from anira.models.policies.decider import Decider
from anira.models.policies.hazards import with_hazard
from anira.models.policies.rules import DISTRIBUTION_RULES, ChosenRule, Rules, ThresholdRange, choose_rule
from anira.models.policies.task_loss import TaskLoss

RULES: Final[dict[str, tuple[Rules, str]]] = {
    "multinomial": (DISTRIBUTION_RULES, "mode"),
    "geometric": ({"hazard": ThresholdRange(low=0.0, high=1.0, default=0.5)}, "hazard"),
    "confidence": ({"confidence": ThresholdRange(low=0.0, high=1.0, default=0.9)}, "confidence"),
}
"""The rules of each decider, and its default."""


@dataclass(frozen=True, kw_only=True)
class DepthAdaptiveOptions:
    """Options of the Depth-Adaptive Transformer."""

    decider: Literal["multinomial", "geometric", "confidence"] = "multinomial"
    """What decides: a distribution from the prelude's output, a hazard after each iteration, or the head."""
    training: Literal["aligned", "mixed"] = "aligned"
    """What the model is trained on: all depths, each for all tokens alike, or a drawn exit for every token."""
    oracle: Literal["likelihood", "correctness"] = "likelihood"
    """What the oracle weighs against the price: log-likelihood, or whether the prediction is right."""
    alpha: float = 0.1
    """Weight of the decider's cross-entropy with the oracle's exit."""
    price: float = 0.05
    """What an iteration costs the oracle, in the units of what it weighs."""
    sigma: float = 0.0
    """Width of the smoothing over neighbouring answer tokens; 0: none."""
    detach: bool = False
    """Cut the gradient from the decider into the model."""
    zero_start: bool = False
    """Start with a last matrix of zeros: the first decision is the same for every token."""

    def __post_init__(self) -> None:
        for name in ("alpha", "price", "sigma"):
            if getattr(self, name) < 0:
                raise UserError(f"{name} must be at least 0, not {getattr(self, name)}")


@dataclass
class DepthAdaptiveState(State):
    """What was decided so far, and in training the states of all depths."""

    exit_depth: Int[Tensor, "*tokens"]
    """The last iteration that the token may run, as far as is known: max_depth until it has halted."""
    log_q: Float[Tensor, "*tokens offered"] | None
    halt_logits: Float[Tensor, "*tokens hazards"] | None
    rows: Int[Tensor, "*tokens"] | None
    positions: Int[Tensor, "*tokens"] | None
    """Whose neighbour a token is, if the oracle is smoothed."""
    states: list[Float[Tensor, "*tokens dim"]] | None
    drawn: bool
    """Whether exits come from noise; the decider then sets nothing, and only learns."""
    level: float
    max_depth: int
    head: Callable[[Tensor], Tensor] | None


class DepthAdaptive(ComputePolicy):
    """Exits by one of three deciders, two of which imitate an oracle that knows the loss at every depth."""

    name = "depth-adaptive"
    Options = DepthAdaptiveOptions
    timing = "online"
    rules = {name: bounds for own, _ in RULES.values() for name, bounds in own.items()}  # noqa: RUF012
    default_rule = "mode"

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.kind = self.options.decider
        self.noise_width = 1 if self.options.training == "mixed" else 0
        self.head_flops = 2 * config.hidden_size * config.vocab_size
        if self.kind != "confidence":
            outputs = config.max_depth if self.kind == "multinomial" else 1
            options = self.options
            self.decider = Decider(config, outputs, detach=options.detach, bias=0.0, zero=options.zero_start)

    def init_weights(self) -> None:
        """Start the decider as its options say."""
        if self.kind != "confidence":
            self.decider.start()

    def rule(self, select: str | None = None, threshold: float | None = None) -> ChosenRule:
        """Return the rule and threshold to decide by: each decider has its own."""
        rules, default = RULES[self.kind]
        return choose_rule(f"{self.name} ({self.kind})", rules, default, select, threshold)

    def begin(self, h0: Tensor, ctx: Context) -> DepthAdaptiveState:
        """Decide from the prelude's output, or draw exits; an online decider may still lower the last depth."""
        drawn, unrolled = ctx.noise is not None, ctx.training and ctx.forced_depth is None
        like = exits.at_least_float32(h0[..., 0])
        exit_depth, log_q = torch.full_like(like, ctx.max_depth, dtype=torch.long), None
        if self.kind == "multinomial":
            log_q = torch.log_softmax(self.decider(h0), dim=-1)
            exit_depth = exits.select_depth(log_q, ctx.select, ctx.threshold or 0.5).clamp(max=ctx.max_depth)
            log_q = exits.cap_depth(log_q, ctx.max_depth) if ctx.probs else None
        if ctx.noise is not None:
            exit_depth = 1 + (ctx.noise[..., 0] * ctx.max_depth).long().clamp(max=ctx.max_depth - 1)
        hazards = (*like.shape, ctx.max_depth - 1)
        smooths = unrolled and self.options.sigma > 0
        return DepthAdaptiveState(
            exit_depth=exit_depth,
            log_q=log_q,
            halt_logits=like.new_zeros(hazards) if self.kind == "geometric" and ctx.probs else None,
            rows=ctx.rows if smooths else None,
            positions=ctx.positions if smooths else None,
            states=[] if unrolled and not (drawn and self.kind == "confidence") else None,
            drawn=drawn,
            level=0.5 if ctx.threshold is None else ctx.threshold,
            max_depth=ctx.max_depth,
            head=ctx.head,
        )

    def route(self, depth: int, h: Tensor, state: DepthAdaptiveState) -> Route:
        """Run who has not halted; aligned training runs everyone."""
        run = state.exit_depth >= depth
        return Route(run if state.states is None or state.drawn else torch.ones_like(run))

    def update(self, depth: int, h: Tensor, candidate: Tensor, route: Route, state: DepthAdaptiveState) -> Tensor:
        """Merge, then let an online decider look at the new state."""
        h = passthrough(h, candidate, route)
        if state.states is not None:
            state.states.append(h)
        halts = self._halts(depth, h, state) if depth < state.max_depth else None
        if halts is not None and not state.drawn:
            state.exit_depth = torch.where(halts & (state.exit_depth > depth), depth, state.exit_depth)
        return h

    def _halts(self, depth: int, h: Tensor, state: DepthAdaptiveState) -> Tensor | None:
        if self.kind == "geometric":
            logit: Tensor = self.decider(h)[..., 0]
            if state.halt_logits is not None:
                state.halt_logits = with_hazard(state.halt_logits, depth, logit)
            return logit >= _logit(state.level)
        if self.kind == "confidence" and not state.drawn:
            assert state.head is not None
            return exits.at_least_float32(state.head(h.detach())).softmax(-1).amax(-1) >= state.level
        return None

    def readout(self, h: Tensor, state: DepthAdaptiveState) -> Readout:
        """Return the exit state; in training all states, weighted alike, or one at a drawn exit."""
        through: Literal["coda", "head"] = "head" if self.kind == "confidence" else "coda"
        if state.states is None:
            return Readout(h[None], torch.ones_like(h[None, ..., 0]), through=through)
        states, chosen = torch.stack(state.states), state.exit_depth - 1
        weights = torch.full_like(exits.at_least_float32(states[..., 0]), 1 / len(states))
        if state.drawn:
            weights = torch.nn.functional.one_hot(chosen, len(states)).movedim(-1, 0).to(weights.dtype)
        return Readout(states, weights, chosen, through)

    def loss(self, state: DepthAdaptiveState, task: TaskLoss) -> dict[str, Tensor]:
        """Return alpha times the decider's cross-entropy with the oracle's exit, where all depths are known."""
        if state.states is None or self.kind == "confidence":
            return {}
        nll = -self._log_probs(state).gather(-1, self.oracle(state, task).unsqueeze(-1) - 1).squeeze(-1)
        if state.drawn:
            nll = torch.where(state.exit_depth == state.max_depth, nll * state.max_depth, 0.0)
        return {"oracle": self.options.alpha * task.mean_over_answers(nll)}

    def oracle(self, state: DepthAdaptiveState, task: TaskLoss) -> Int[Tensor, "*tokens"]:
        """Return the exit that the oracle would have chosen for every token."""
        score = -task.ce.detach()
        if self.options.oracle == "correctness":
            score = ((task.predicted() == task.targets) & task.answer_mask).to(score.dtype)
        if state.positions is not None and state.rows is not None:
            distance = state.positions.unsqueeze(-1) - state.positions.unsqueeze(-2)
            same = state.rows.unsqueeze(-1) == state.rows.unsqueeze(-2)
            kernel = torch.where(same, torch.exp(-(distance**2) / self.options.sigma), 0.0).to(score.dtype)
            score = torch.einsum("...ts,n...s->n...t", kernel, score)
        depths = torch.arange(1, len(score) + 1, dtype=score.dtype, device=score.device)
        worth: Tensor = score.movedim(0, -1) - self.options.price * depths
        return worth.argmax(-1) + 1

    def _log_probs(self, state: DepthAdaptiveState) -> Tensor:
        if state.halt_logits is not None:
            return exits.hazards_to_log_probs(state.halt_logits)
        assert state.log_q is not None
        return state.log_q

    def allocation(self, state: DepthAdaptiveState) -> Allocation:
        """Return depth, and the distribution of the deciders that have one."""
        if state.halt_logits is None and state.log_q is None:
            return Allocation(state.exit_depth)
        log_q = self._log_probs(state)
        return Allocation(state.exit_depth, log_q, exits.expected_depth(log_q))

    def decision_flops(self) -> int:
        """Return the cost of the decider, or of the head."""
        return self.head_flops if self.kind == "confidence" else self.decider.flops()

    def float32_flops(self) -> int:
        """Return the cost of the decider's last matrix; the head has the model's precision."""
        return 0 if self.kind == "confidence" else self.decider.float32_flops()

    def num_decisions(self, executed: Int[Tensor, "*tokens"], max_depth: int) -> Int[Tensor, "*tokens"]:
        """One decision per token, or after each iteration but the last possible one."""
        return torch.ones_like(executed) if self.kind == "multinomial" else executed.clamp(max=max_depth - 1)


def _logit(probability: float) -> float:
    if probability in (0.0, 1.0):
        return math.inf if probability else -math.inf
    return math.log(probability) - math.log1p(-probability)
