"""The interface between the backbone and what sets depth: a compute policy.

One policy object serves the two ways to run the core. Its tensors are token-wise with any leading shape: (batch,
time) in the parallel graph that training uses, and (tokens,) in the active-only execution of prefill and decode,
where only the tokens that still run are there. A policy that treats every token by itself needs to know nothing of
either.

Checked on paper before it was fixed: ACT keeps its mixture in the state and returns it from `readout`; PonderNet and
Ouro run everyone in training and read out all D states; MoR and MoD answer `route` with a gate as weight and with
`see`; the criteria of CALM and Huginn compare states in `update`. See docs/add-a-policy.md.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, Self

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn


@dataclass(frozen=True, kw_only=True)
class Context:
    """What a policy may know about one forward call; built by the backbone."""

    valid: Bool[Tensor, "*tokens"]
    """Tokens that are not padding."""
    positions: Int[Tensor, "*tokens"]
    max_depth: int
    """Iterations on offer; more than the model was trained with if the caller asks for it and the policy allows it."""
    noise: Float[Tensor, "*tokens channels"] | None = None
    """Uniform numbers in (0, 1), `noise_width` of them a token; None means: decide deterministically."""
    select: str | None = None
    threshold: float | None = None
    """How to decide deterministically; None means the policy's own default."""
    exits: Literal["real", "virtual"] = "real"
    """Whether a halted token stops (real), or all iterations run and a state is picked afterwards (virtual)."""
    probs: bool = True
    """Whether the exit distribution will be asked for, by the loss or the caller; a decoding step saves its cost."""
    probe: Callable[[Tensor], Tensor] | None = None
    """Logits of states, through coda and head: for policies with causal = "probe". Every call costs a coda.

    There in the parallel graph only, where the coda sees other tokens at the same iteration instead of at their exits.
    """


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
    """Coefficient of the update, carrying gradient (straight-through, a gate); None is `run`."""
    see: Bool[Tensor, "*tokens"] | None = None
    """Whose keys and values are visible in this iteration: None, everyone that has any; or `run`, those who run it.

    Other choices make sense in the parallel graph only; decoding keeps no keys for them.
    """
    whole: bool = False
    """Whether everyone who is there runs; the active-only execution says so after it has taken out the others."""


@dataclass(frozen=True)
class Readout:
    """States handed to the coda: one (S = 1), or several with a weight for each state's cross-entropy."""

    states: Float[Tensor, "states *tokens dim"]
    weights: Float[Tensor, "states *tokens"]


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
class TaskLoss:
    """What the task's loss looks like token by token; a policy's loss may read all of it."""

    ce: Float[Tensor, "states *tokens"]
    """Cross-entropy at the position that predicts, 0 where there is no answer token."""
    answer_mask: Bool[Tensor, "*tokens"]
    valid: Bool[Tensor, "*tokens"]
    num_valid_tokens: Float[Tensor, " batch"] | Int[Tensor, ""] | Float[Tensor, ""] | float
    """Valid tokens of the global batch, so that parts of a batch add up to the loss of the whole.

    One number, or where only the answers of the global batch are known (Hugging Face's Trainer) one per row.
    """
    scale: Tensor | float = 1.0
    """Multiplies the compute weight gamma; a schedule (warm-up) sets it."""

    def mean_over_valid(self, values: Float[Tensor, "*tokens"]) -> Float[Tensor, ""]:
        """Return the sum over valid tokens divided by their number in the global batch."""
        return (values.masked_fill(~self.valid, 0.0).sum(-1) / self.num_valid_tokens).sum()


class ComputePolicy(nn.Module, ABC):
    """Sets the depth of every token. A subclass is final: it is used, not overridden again.

    timing: "none" (never decides), "early" (in `begin`), "online" (in `update`), "route" (before each iteration, and
    a token may
        skip one and run the next). With the first three a token that does not run an iteration never runs again.
    causal: "exact" (the parallel graph and decoding agree), "surrogate" (training uses a rule that looks at later
    tokens, so another
        one is used otherwise), "probe" (looks at logits: only token-by-token decoding is exact).
    noise_width: how many uniform numbers a token the policy consumes when it samples.
    """

    name: ClassVar[str]
    Options: ClassVar[type]
    timing: ClassVar[Literal["none", "early", "online", "route"]]
    causal: ClassVar[Literal["exact", "surrogate", "probe"]] = "exact"
    selects: ClassVar[bool] = False
    """Whether `select` and `threshold` mean anything to the policy."""
    beyond_max_depth: ClassVar[bool] = False
    """Whether more iterations than in training make sense (never for an unshared core)."""
    noise_width: int = 0

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.options = self.Options(**{key: value for key, value in config.policy.items() if key != "name"})

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Follow the model to another device or to float64, and stay in float32 where it is cast to half precision."""

        def wide(tensor: Tensor) -> Tensor:
            moved = fn(tensor)
            return tensor.to(moved.device) if moved.dtype in (torch.float16, torch.bfloat16) else moved

        super()._apply(wide, recurse)
        return self

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

    def decision_flops(self) -> int:
        """Return the multiply-adds (times 2) of one decision for one token."""
        return 0

    def float32_flops(self) -> int:
        """Return how much of `decision_flops` stays in float32 under autocast; unless a policy says otherwise, all."""
        return self.decision_flops()

    def num_decisions(self, executed: Int[Tensor, "*tokens"], max_depth: int) -> Int[Tensor, "*tokens"]:
        """Return how many decisions a token with `executed` iterations has cost."""
        return torch.zeros_like(executed)


def passthrough(h: Tensor, candidate: Tensor, route: Route) -> Tensor:
    """Return weight * candidate + (1 - weight) * h (paper, equation 5), exactly `h` or `candidate` at 0 and 1."""
    if route.weight is None:
        if route.whole:
            return candidate
        return torch.where(route.run.unsqueeze(-1), candidate, h)
    # lerp counts from the nearer end, so that both ends are exact, and is one operation instead of four.
    return torch.lerp(h, candidate, route.weight.to(h.dtype).unsqueeze(-1))
