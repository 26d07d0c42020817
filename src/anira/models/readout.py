"""What the core hands on to coda and head, in rows whichever way it was run."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor

from anira.models.execution import CoreOutput
from anira.models.policies import Allocation, ComputePolicy, Context, Readout


@dataclass(frozen=True)
class Core:
    """States to read out, what was decided, and who executed what."""

    readout: Readout
    state: Any
    allocation: Allocation
    executed: Int[Tensor, "batch time"]
    iteration_states: tuple[Tensor, ...]
    ran: Bool[Tensor, "batch time depth"] | None
    hides: bool


def decided(policy: ComputePolicy, core: CoreOutput, ctx: Context) -> Allocation:
    """Return what the policy decided, or what was decided for it."""
    allocation = policy.allocation(core.state)
    return allocation if ctx.forced_depth is None else replace(allocation, exit_depth=core.executed)


def chosen_of(
    states: Shaped[Tensor, "states *tokens width"], chosen: Int[Tensor, "*tokens"] | None
) -> Shaped[Tensor, "*tokens width"]:
    """Return the answer among what several states give: the last one, unless the policy chose for each token."""
    if chosen is None or len(states) == 1:
        return states[-1]
    return torch.take_along_dim(states, chosen[None, ..., None], dim=0)[0]


def kept_of(
    values: Shaped[Tensor, "batch time"] | None, kept: int | Int[Tensor, " kept"]
) -> Shaped[Tensor, "batch kept"] | None:
    """Return the positions that `logits_to_keep` asks for: some, the last ones, or with 0 all."""
    if values is None or (not isinstance(kept, Tensor) and not kept):
        return values
    return values[:, kept if isinstance(kept, Tensor) else slice(-kept, None)]
