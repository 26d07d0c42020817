"""Estimates in few characters."""

from anira.measure.statistics.estimates import Estimate


def short(estimate: Estimate, digits: int = 2) -> str:
    """Write an estimate shortly: why it is undefined is said in words below the tables."""
    if estimate.value is None:
        return "undefined"
    return estimate.text(digits) if estimate.low is not None else f"{estimate.value:z.{digits}f} [no interval]"


def _value(estimate: Estimate) -> str:
    return "-" if estimate.value is None else f"{estimate.value:.2f}"
