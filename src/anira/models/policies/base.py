"""The interface between the backbone and what sets depth: a compute policy.

One policy object serves the two ways to run the core. Its tensors are token-wise with any leading shape: (batch,
time) in the parallel graph that training uses, and (tokens,) in the active-only execution of prefill and decode,
where only the tokens that still run are there. A policy that treats every token by itself needs to know nothing of
either.

A policy keeps its own books: who it would let run (`alive`, say) is part of its state. Who really runs an iteration
is in `Route.run` as `update` gets it, which differs where depths are forced or exits are virtual. docs/add-a-policy.md
goes through a whole policy; `anira.testing.check_policy` checks one.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, Self

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from anira.config import UserError
from anira.models.policies.rules import NO_RULES, ChosenRule, Rules, choose_rule
from anira.models.policies.task_loss import TaskLoss

Exits = Literal["real", "virtual"]
"""Whether a halted token stops (real), or all iterations run for everyone and a state is picked for each (virtual)."""


@dataclass(frozen=True, kw_only=True)
class Context:
    """What a policy may know about one forward call; built by the model."""

    valid: Bool[Tensor, "*tokens"]
    """Tokens that are not padding."""
    positions: Int[Tensor, "*tokens"]
    rows: Int[Tensor, "*tokens"]
    """Which sequence a token belongs to; several may lie end to end in one row of the batch."""
    ids: Int[Tensor, "*tokens"] | None = None
    """Which token stands there; None where the caller gave embeddings instead."""
    max_depth: int
    """Iterations on offer; more than the model was trained with if the caller asks for it and the policy allows it."""
    training: bool = False
    """Whether this is a training step: a policy may then look at later tokens, or read out all depths."""
    noise: Float[Tensor, "*tokens channels"] | None = None
    """Uniform numbers in (0, 1), `noise_width` per token; None means: decide deterministically."""
    step_noise: Float[Tensor, " channels"] | None = None
    """Uniform numbers in (0, 1), `step_noise_width` per optimizer step, the same for all its parts and processes."""
    progress: Float[Tensor, ""] | float = 1.0
    """How much of training is over, from 0 to 1."""
    select: str = ""
    threshold: float | None = None
    """How to decide deterministically: one of the policy's own rules, with its threshold."""
    forced_depth: Int[Tensor, "*tokens"] | None = None
    """Iterations that each token gets whatever the policy decides: the backbone sees to it, `readout` may read it."""
    exits: Exits = "real"
    probs: bool = True
    """Whether the exit distribution will be asked for, by the loss or the caller; a decoding step saves its cost."""
    head: Callable[[Tensor], Tensor] | None = None
    """Logits of states by the model's head alone, lm_head(norm(h)), token by token: the same in both executions."""
    coda: Callable[[Tensor], Tensor] | None = None
    """Logits of states through coda and head, where that is exact: in a model without coda layers."""


@dataclass
class State:
    """Per-token memory of a policy during one forward call; subclasses add tensors with the tokens leading."""

    def take(self, index: Tensor) -> Self:
        """Return the state of some tokens of a flat list."""
        return replace(self, **{name: value[index] for name, value in self._tensors()})

    def put(self, index: Tensor, part: Self) -> None:
        """Write the state of some tokens back, in place (active-only execution runs without gradients)."""
        values = dict(part._tensors())
        for name, value in self._tensors():
            value[index] = values[name]

    def _tensors(self) -> list[tuple[str, Tensor]]:
        pairs = ((field.name, getattr(self, field.name)) for field in fields(self))
        return [(name, value) for name, value in pairs if isinstance(value, Tensor)]


@dataclass(frozen=True)
class Route:
    """A policy's answer before one iteration."""

    run: Bool[Tensor, "*tokens"]
    """Who executes the iteration. All cost is counted from this."""
    weight: Float[Tensor, "*tokens"] | None = None
    """`run` with a gradient (straight-through), for policies that sample: 1 for those who run, 0 for the others."""
    see: Bool[Tensor, "*tokens"] | None = None
    """Whose keys and values are visible in this iteration: None, everyone that has any; or `run`, those who run it.

    Other choices make sense in the parallel graph only; decoding keeps no keys for them.
    """
    gate: Float[Tensor, "*tokens"] | None = None
    """Scales the update of those who run, h + gate * (candidate - h); not read for the others."""
    whole: bool = False
    """Whether everyone who is there runs; the active-only execution says so after it has taken out the others."""

    def with_run(self, run: Bool[Tensor, "*tokens"]) -> "Route":
        """Return the same with others running, whatever the policy wanted."""
        return replace(self, run=run, weight=None, see=None if self.see is None else run)

    def take(self, index: Tensor) -> "Route":
        """Return the answer for some tokens of a flat list."""
        parts = (None if part is None else part[index] for part in (self.run, self.weight, self.see, self.gate))
        return Route(*parts)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Readout:
    """States that become predictions: one (S = 1), or several with a weight for each state's cross-entropy."""

    states: Float[Tensor, "states *tokens dim"]
    weights: Float[Tensor, "states *tokens"]
    chosen: Int[Tensor, "*tokens"] | None = None
    """Which state is the model's answer, for each token; None: the last one."""
    through: Literal["coda", "head"] = "coda"
    """Whether states go through the coda, or straight to the head."""


@dataclass(frozen=True)
class Allocation:
    """What a policy decided for every token."""

    exit_depth: Int[Tensor, "*tokens"]
    """The iteration whose state was read out; executed iterations are counted by the backbone."""
    exit_log_probs: Float[Tensor, "*tokens depth"] | None = None
    """log q(d) of the executed, frozen graph, where the policy has a distribution."""
    expected_depth: Float[Tensor, "*tokens"] | None = None

    def each(self, change: Callable[[Tensor], Tensor]) -> "Allocation":
        """Return the same with every tensor changed alike."""
        tensors = (self.exit_depth, self.exit_log_probs, self.expected_depth)
        depth, *rest = (None if tensor is None else change(tensor) for tensor in tensors)
        assert depth is not None
        return Allocation(depth, *rest)

    def only(self, valid: Bool[Tensor, "*tokens"]) -> "Allocation":
        """Return the same with zeros at padding."""
        return self.each(
            lambda tensor: tensor.masked_fill(~valid.view(*valid.shape, *[1] * (tensor.dim() - valid.dim())), 0)
        )


@dataclass(frozen=True, kw_only=True)
class NoOptions:
    """Of a policy without options."""


class ComputePolicy(nn.Module, ABC):
    """Sets the depth of every token. A subclass is final: it is used, not overridden again.

    timing: "none" (never decides), "early" (in `begin`), "online" (in `update`), "route" (before each iteration, and a
        token may skip one and run the next). With the first three a token that does not run an iteration never runs
        again.
    causal: "exact" (decisions about a token depend on earlier ones only, always), "surrogate" (training uses a rule
        that looks at later tokens, everything else another one), "probe" (looks at logits through the coda, `ctx.coda`,
        which is exact without coda layers only: with some, what they see of earlier tokens is not decided yet).
    noise_width, step_noise_width: how many uniform numbers the policy consumes per token, and per optimizer step.
    """

    name: ClassVar[str]
    Options: ClassVar[type] = NoOptions
    timing: ClassVar[Literal["none", "early", "online", "route"]]
    causal: ClassVar[Literal["exact", "surrogate", "probe"]] = "exact"
    rules: Rules = NO_RULES
    """The rules by which the policy decides without noise, with the thresholds that they take; {}: it has no choice."""
    default_rule: str = ""
    beyond_max_depth: ClassVar[bool] = False
    """Whether more iterations than in training make sense (never for an unshared core)."""
    uses_global_means: bool = False
    """Whether the loss asks for `TaskLoss.global_mean`."""
    uses_progress: bool = False
    """Whether anything depends on `Context.progress`."""
    noise_width: int = 0
    step_noise_width: int = 0
    first_stage: str = ""
    """What an earlier run must have trained before these options can be; empty: training starts from nothing."""
    second_stage: ClassVar[Mapping[str, Any]] = {}
    """Options, as `anira train` names them, of a run that goes on where one with the defaults ended; {}: none does."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.options = self.Options(**{key: value for key, value in config.policy.items() if key != "name"})

    def init_weights(self) -> None:
        """Set what the policy wants to start with, by functions of torch.nn.init, after Hugging Face's own start."""

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Follow the model to another device or to float64, and stay in float32 where it is cast to half precision."""

        def wide(tensor: Tensor) -> Tensor:
            moved = fn(tensor)
            return tensor.to(moved.device) if moved.dtype in (torch.float16, torch.bfloat16) else moved

        super()._apply(wide, recurse)
        return self

    def depth_for_step(self, step_noise: Float[Tensor, " channels"] | None, progress: Tensor | float) -> int | None:
        """Return how many iterations a training step offers, known before it is computed; None: max_depth."""
        return None

    def detached_iterations(self, ctx: Context) -> int:
        """Return through how many of the first iterations no gradient goes (truncated back-propagation)."""
        return 0

    @abstractmethod
    def begin(self, h0: Float[Tensor, "*tokens dim"], ctx: Context) -> Any:
        """Return the state for one call, from the prelude's output. Early deciders decide here."""

    @abstractmethod
    def route(self, depth: int, h: Float[Tensor, "*tokens dim"], state: Any) -> Route:
        """Say who runs iteration `depth` (1, 2, ...), before it."""

    def update(
        self,
        depth: int,
        h: Float[Tensor, "*tokens dim"],
        candidate: Float[Tensor, "*tokens dim"],
        route: Route,
        state: Any,
    ) -> Float[Tensor, "*tokens dim"]:
        """Return the state after the iteration; online deciders decide here. `candidate` is the core's output."""
        return passthrough(h, candidate, route)

    def readout(self, h: Float[Tensor, "*tokens dim"], state: Any) -> Readout:
        """Return what the coda reads; by default the last state."""
        return Readout(h[None], torch.ones_like(h[None, ..., 0]))

    def loss(self, state: Any, task: TaskLoss) -> dict[str, Tensor]:
        """Return named parts that are added to the task's loss."""
        return {}

    @abstractmethod
    def allocation(self, state: Any) -> Allocation:
        """Return what was decided."""

    def after_step(self, means: Mapping[str, Tensor]) -> None:
        """Do what is to be done after an optimizer step, given the step's global means (`TaskLoss.global_mean`)."""

    def decision_flops(self) -> int:
        """Return the multiply-adds (times 2) of one decision for one token."""
        return 0

    def num_decisions(self, executed: Int[Tensor, "*tokens"], max_depth: int) -> Int[Tensor, "*tokens"]:
        """Return how many decisions a token with `executed` iterations has cost."""
        return torch.zeros_like(executed)

    def for_rule(self, select: str) -> Self:
        """Return a policy whose costs are those of deciding by a rule, for a policy whose rules differ in cost."""
        return self

    def float32_flops(self) -> int:
        """Return how much of `decision_flops` stays in float32 under autocast; unless a policy says otherwise, all."""
        return self.decision_flops()

    def decision_cost(self, executed: Int[Tensor, "*tokens"], max_depth: int) -> Int[Tensor, "*tokens"]:
        """Return the FLOPs that deciding has cost a token with `executed` iterations."""
        return self.num_decisions(executed, max_depth) * self.decision_flops()

    @classmethod
    def check_class(cls) -> None:
        """Raise a UserError if the class leaves out what every policy must say."""
        for needed in ("name", "timing"):
            if not hasattr(cls, needed):
                raise UserError(f"policy {cls.__name__} must declare {needed} (docs/add-a-policy.md)")
        own = [
            name for name in ("decision_flops", "num_decisions") if getattr(cls, name) is getattr(ComputePolicy, name)
        ]
        if cls.timing != "none" and own and cls.decision_cost is ComputePolicy.decision_cost:
            raise UserError(
                f"policy {cls.name!r} decides, and does not say what deciding costs: define {' and '.join(own)} "
                "(0 FLOPs where it costs nothing)"
            )
        if cls.rules and cls.default_rule not in cls.rules:
            raise UserError(f"default_rule {cls.default_rule!r} of policy {cls.name!r} is none of its rules")

    def rule(self, select: str | None = None, threshold: float | None = None) -> ChosenRule:
        """Return the rule and threshold to decide by; a UserError says what means nothing to this policy."""
        return choose_rule(self.name, self.rules, self.default_rule, select, threshold)


def _defined(cls: type[ComputePolicy]) -> set[str]:
    """Return the names that a class defines itself, or inherits from another than the interface."""
    own = cls.__mro__[: cls.__mro__.index(ComputePolicy)]
    return {name for base in own for name in vars(base)}


def passthrough(h: Tensor, candidate: Tensor, route: Route) -> Tensor:
    """Return weight * candidate + (1 - weight) * h (paper, equation 5), exactly `h` or `candidate` at 0 and 1."""
    weight = route.weight
    if route.gate is not None:
        weight = route.gate if route.whole else torch.where(route.run, route.gate, 0.0)
    if weight is None:
        if route.whole:
            return candidate
        return torch.where(route.run.unsqueeze(-1), candidate, h)
    # lerp counts from the nearer end, so that both ends are exact, and is one operation instead of four.
    return torch.lerp(h, candidate, weight.to(h.dtype).unsqueeze(-1))
