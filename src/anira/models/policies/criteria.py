"""Convergence criteria: halt a token once an iteration changes it by little, whatever it was trained with.

From Huginn (Geiping et al. 2025, arXiv 2502.05171, section 6.1, and its released code): `latent`, `kl`, `entropy`,
`argmax`, `minp`; `cosine` is that of a variant of the code. `fixed-point` is the residual of arXiv 2607.14427,
`second-order` the acceleration of arXiv 2509.23314 (of both only abstracts and summaries were read). What was decided:

- Predictions are those of the head alone (`ctx.head`), which both executions compute alike. The code puts the coda in
  between, which is another thing where the coda attends; without coda layers it is the same.
- A rule that compares predictions cannot be met after the first iteration, for want of an earlier one. The code
  compares with a uniform prediction there, and so would let an undecided token out at once.
- `minp` takes what the code does: probabilities below a tenth of the largest become 1 / vocabulary, and the result is
  normalised. Its threshold is 1e-6 in the code that also has 5e-4 for `kl` (1e-5 and 1e-3 in another version).
- `fixed-point` is the absolute residual, as the root of the mean square so that its threshold does not depend on the
  width. The relative one is `latent`. A state whose norm grows looks settled to `latent` only.
- `second-order` is relative to the state's norm, and wants two hits in a row, as its paper does. Its threshold, and
  that of `fixed-point`, are ours: the same 0.03 as for `latent`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from anira.models.exits import at_least_float32
from anira.models.policies.base import Context, State
from anira.models.policies.rules import Rules, ThresholdRange

MIN_P: Final = 0.1
"""Share of the largest probability below which `minp` takes all tokens for equal."""
_TINY: Final = 1e-30

Head = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Criterion:
    """A view of the state, and how much it may change between two iterations of a token that halts."""

    view: Callable[[Tensor, Tensor, Head], Tensor]
    """What the rule looks at, (*tokens, width), given the states before and after an iteration, and the head."""
    change: Callable[[Tensor, Tensor, Tensor], Tensor]
    """How much the view differs: given the view one iteration ago, the present one, and the present state."""
    bounds: ThresholdRange
    remembers: Literal["", "number", "state", "vocab"] = ""
    """How wide the view of one iteration ago is; empty where it is not needed."""
    hits: int = 1
    """Iterations in a row that must change little."""
    counts: bool = False
    """Whether the threshold is the number of those, and the view must not change at all."""
    probes: bool = False
    """Whether the view needs the head."""
    products: int = 0
    """Multiply-adds per channel of the state, beside the head's."""

    def width(self, hidden_size: int, vocab_size: int) -> int:
        """Return the width of what is remembered."""
        return {"": 0, "number": 1, "state": hidden_size, "vocab": vocab_size}[self.remembers]

    def flops(self, hidden_size: int, vocab_size: int) -> int:
        """Return twice the multiply-adds of looking once."""
        return 2 * hidden_size * (self.products + self.probes * vocab_size)


def _norm(x: Float[Tensor, "*tokens dim"]) -> Float[Tensor, "*tokens"]:
    norm: Tensor = torch.linalg.vector_norm(x, dim=-1)
    return norm.clamp(min=_TINY)


def _update(before: Tensor, after: Tensor, head: Head) -> Tensor:
    return after - before


def _log_probs(before: Tensor, after: Tensor, head: Head) -> Tensor:
    return torch.log_softmax(at_least_float32(head(after)), dim=-1)


def _filtered(before: Tensor, after: Tensor, head: Head) -> Tensor:
    probs = _log_probs(before, after, head).exp()
    kept = torch.where(probs < MIN_P * probs.amax(-1, keepdim=True), 1 / probs.shape[-1], probs)
    return (kept / kept.sum(-1, keepdim=True)).log()


def _entropy(before: Tensor, after: Tensor, head: Head) -> Tensor:
    log_probs = _log_probs(before, after, head)
    return -(log_probs.exp() * log_probs).sum(-1, keepdim=True)


def _argmax(before: Tensor, after: Tensor, head: Head) -> Tensor:
    logits = at_least_float32(head(after))
    return logits.argmax(-1, keepdim=True).to(logits.dtype)


def _kl(before: Tensor, now: Tensor, h: Tensor) -> Tensor:
    """KL(before || now): the direction of Huginn's code."""
    return (before.exp() * (before - now)).sum(-1)


def _distance(before: Tensor, now: Tensor, h: Tensor) -> Tensor:
    return (now - before)[..., 0].abs()


def _range(default: float, high: float = 1e6) -> ThresholdRange:
    return ThresholdRange(low=0.0, high=high, default=default, deeper="low")


CRITERIA: Final[dict[str, Criterion]] = {
    "latent": Criterion(_update, lambda _, now, h: _norm(now) / _norm(h), _range(0.03), products=2),
    "fixed-point": Criterion(_update, lambda _, now, h: _norm(now) / now.shape[-1] ** 0.5, _range(0.03), products=1),
    "cosine": Criterion(
        _update, lambda _, now, h: 1 - torch.cosine_similarity(h - now, h, dim=-1), _range(1e-3, 2.0), products=3
    ),
    "second-order": Criterion(
        _update,
        lambda before, now, h: _norm(now - before) / _norm(h),
        _range(0.03),
        remembers="state",
        hits=2,
        products=2,
    ),
    "kl": Criterion(_log_probs, _kl, _range(5e-4), remembers="vocab", probes=True),
    "minp": Criterion(_filtered, _kl, _range(1e-6), remembers="vocab", probes=True),
    "entropy": Criterion(_entropy, _distance, _range(1e-3), remembers="number", probes=True),
    "argmax": Criterion(
        _argmax,
        _distance,
        ThresholdRange(low=1.0, high=1e6, default=5.0),
        remembers="number",
        counts=True,
        probes=True,
    ),
}
CRITERIA_RULES: Final[Rules] = {"none": None, **{name: criterion.bounds for name, criterion in CRITERIA.items()}}
"""The same as rules of a policy, with one that never halts."""


@dataclass
class CriterionState(State):
    """What a criterion has seen of each token; to be had as a base by states of policies."""

    alive: Bool[Tensor, "*tokens"]
    exit_depth: Int[Tensor, "*tokens"]
    view: Float[Tensor, "*tokens width"]
    """What the criterion saw after the iteration before this one, where it must remember."""
    hits: Int[Tensor, "*tokens"]
    criterion: Criterion | None
    """None: nobody halts."""
    threshold: float
    max_depth: int
    head: Head


def begin_watching(h0: Float[Tensor, "*tokens dim"], ctx: Context, rule: str, vocab_size: int) -> CriterionState:
    """Return the state in which nobody has run and nothing has been seen."""
    assert ctx.head is not None
    criterion = CRITERIA.get(rule)
    width = 0 if criterion is None else criterion.width(h0.shape[-1], vocab_size)
    return CriterionState(
        alive=torch.ones_like(ctx.positions, dtype=torch.bool),
        exit_depth=torch.zeros_like(ctx.positions),
        view=at_least_float32(h0).new_zeros((*h0.shape[:-1], width)),
        hits=torch.zeros_like(ctx.positions),
        criterion=criterion,
        threshold=ctx.threshold or 0.0,
        max_depth=ctx.max_depth,
        head=ctx.head,
    )


def watch(
    depth: int, before: Float[Tensor, "*tokens dim"], after: Float[Tensor, "*tokens dim"], state: CriterionState
) -> None:
    """Note an iteration, and take those out of play whose view has changed little, often enough."""
    state.exit_depth = state.exit_depth + state.alive
    criterion = state.criterion
    if criterion is None or depth == state.max_depth:
        return
    h = at_least_float32(after)
    view = criterion.view(at_least_float32(before), h if not criterion.probes else after, state.head)
    if depth > 1 or not criterion.remembers:
        little = criterion.change(state.view, view, h) < (0.5 if criterion.counts else state.threshold)
        state.hits = torch.where(little, state.hits + 1, 0)
        state.alive = state.alive & (state.hits < (state.threshold if criterion.counts else criterion.hits))
    if criterion.remembers:
        state.view = view
