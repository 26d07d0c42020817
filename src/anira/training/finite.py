"""Steps whose loss or gradient is not a number never reach the weights."""

from collections.abc import Sequence
from typing import Any, Literal

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.tensor import DTensor

from anira.config import UserError

NonFinitePlan = Literal["stop", "skip"]


class NonFiniteError(UserError):
    """A run cannot go on; all its processes agree on it, and one of them says so."""


class FiniteSteps:
    """Lets the optimizer leave out steps whose loss or gradient is not finite, and counts them.

    Nobody waits for the device to find them: the optimizer looks at `found_inf`, as it does under a gradient scaler,
    and the count is read where the device is waited for anyway. Where such a step stops the run, nothing after it
    changes the weights: when it is found they are still those of the step before it.
    """

    def __init__(self, optimizer: Any, device: torch.device, plan: NonFinitePlan) -> None:
        self.plan = plan
        self.before = 0
        """Steps that were left out before this process resumed the run."""
        self._optimizer = optimizer
        self._flags = torch.zeros(2, device=device)  # of loss and gradient: 1 if it is not finite
        self._count = torch.zeros((), dtype=torch.int64, device=device)

    def judge(self, loss: Tensor, norm: Tensor) -> None:
        """Take the loss and the gradient's norm of a step, right before the optimizer makes it."""
        flags = agreed(torch.stack([~_local(value).isfinite() for value in (loss, norm)]).float())
        if self.plan == "stop":
            flags = torch.where(self._flags.any(), self._flags, flags)
        self._flags = flags
        self._optimizer.found_inf = flags.max()
        self._count += flags.any()

    def failure(self, step: int) -> str:
        """Say which step stops the run, the last one being `step`; empty if none does."""
        count = int(self._count) if self.plan == "stop" else 0
        what = "loss" if count and self._flags[0] else "gradient"
        return f"the {what} of step {step - count + 1} is not finite" if count else ""

    def counted(self) -> dict[str, int]:
        """Return how many steps of the run were left out, where that may happen or has happened."""
        count = self.before + int(self._count)
        return {"skipped_steps": count} if count or self.plan == "skip" else {}


def all_finite(tensors: Sequence[Tensor]) -> bool:
    """Say whether every number of these tensors is finite, on all processes."""
    finite = torch.stack([_local(tensor).isfinite().all().to(tensors[0].device) for tensor in tensors])
    return not agreed((~finite).any().float())


def agreed(flags: Tensor) -> Tensor:
    """Return the largest flags that any process of the run has."""
    if dist.is_initialized():
        dist.all_reduce(flags, op=dist.ReduceOp.MAX)
    return flags


def _local(value: Tensor) -> Tensor:
    """Return this process's part: what is not finite there is not finite in the whole."""
    return (value.to_local() if isinstance(value, DTensor) else value).detach()
