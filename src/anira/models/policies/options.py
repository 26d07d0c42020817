"""Checks that several policies' options share."""

from anira.config import UserError


def check_compute_options(gamma: float, base: float) -> None:
    """Refuse a negative compute weight and a prior that grows with depth."""
    if gamma < 0:
        raise UserError(f"gamma must be at least 0, not {gamma}")
    if base < 1:
        raise UserError(f"base must be at least 1 (the prior falls with depth), not {base}")
