"""What several policies' options share."""

from typing import Literal

from torch import Tensor

from anira.config import UserError

Lookahead = Literal["full", "one"]
"""How far beyond a sampled exit the straight-through gradient looks.

full, the paper's: every later iteration adds what one step from the frozen state would change, the same each time. one:
only the first of them does.
"""


def looked_at(soft: Tensor, depth: int, exit_depth: Tensor, lookahead: Lookahead) -> Tensor:
    """Return the relaxed activity of an iteration, without gradient where lookahead "one" does not look.

    `exit_depth` is the token's exit if it has one by now, else the iterations it has run.
    """
    return soft if lookahead == "full" else soft.where(depth <= exit_depth + 1, soft.detach())


def check_compute_options(gamma: float, base: float) -> None:
    """Refuse a negative compute weight and a prior that grows with depth."""
    if gamma < 0:
        raise UserError(f"gamma must be at least 0, not {gamma}")
    if base < 1:
        raise UserError(f"base must be at least 1 (the prior falls with depth), not {base}")
