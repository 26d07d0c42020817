"""Oracle head (RecurTrace, arXiv 2609.03379): a halting head trained on the depth at which loss and compute are least.

The oracle's depth of a token is the smallest d from the floor on at which CE(d) + price * d is least; the head learns
to halt from there on. Only a summary was read: the price per iteration, the loss (cross-entropy of each decision) and
the threshold of one half are ours; the floor of 2 is the paper's. The price follows the warm-up of compute weights.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool
from torch import Tensor

from anira.config import UserError
from anira.models.policies.imitation import Imitation, ImitationOptions
from anira.models.policies.task_loss import TaskLoss


@dataclass(frozen=True, kw_only=True)
class OracleHeadOptions(ImitationOptions):
    """Options of the oracle head."""

    floor: int = 2
    """Iterations that every token runs."""
    price: float = 0.05
    """What an iteration must save, in nats of the token's cross-entropy."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.price < 0:
            raise UserError(f"price must be at least 0, not {self.price}")


class OracleHead(Imitation):
    """Halts where the head takes loss and compute for least."""

    name = "oracle-head"
    Options = OracleHeadOptions

    def halts(self, task: TaskLoss) -> Bool[Tensor, "depths *tokens"]:
        """Halt from the cheapest depth on."""
        depths = torch.arange(1, len(task.ce) + 1, device=task.ce.device).view(-1, *[1] * task.valid.dim())
        cost = task.ce + self.options.price * task.scale * depths
        cost = cost.masked_fill(depths < min(self.options.floor, len(task.ce)), torch.inf)
        cheapest: Tensor = cost.argmin(0) + 1  # the first of equal ones
        return depths >= cheapest
