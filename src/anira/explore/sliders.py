"""The rules of a policy as controls of a page: which there are, and where the slider of a threshold can stand."""

import math
from collections.abc import Mapping
from typing import Any, Final

from anira.models.policies.rules import Rules, ThresholdRange

_STEPS: Final = 20
_DECADES: Final = 2
"""To each side of a default that is small in its range: such a threshold is a matter of magnitude."""


def controls(rules: Rules) -> list[dict[str, Any]]:
    """Return each rule with its range in words, its default, and the stops of its slider.

    >>> controls({"mode": None})
    [{'name': 'mode'}]
    """
    return [{"name": name} if bounds is None else {"name": name, **_control(bounds)} for name, bounds in rules.items()]


def _control(bounds: ThresholdRange) -> Mapping[str, Any]:
    found, middle = stops(bounds), (bounds.low + bounds.high) / 2
    start = min(found, key=lambda stop: abs(stop - middle)) if bounds.default is None else bounds.default
    ends = {"low": bounds.low, "high": bounds.high, "range": str(bounds), "deeper": bounds.deeper}
    return {**ends, "stops": found, "start": start}


def stops(bounds: ThresholdRange) -> list[float]:
    """Return where a slider can stand, ascending: in equal steps, or by magnitude around a small default.

    >>> stops(ThresholdRange(low=0.0, high=1.0, open_low=True))[:3]
    [0.05, 0.1, 0.15]
    >>> found = stops(ThresholdRange(low=0.0, high=1e6, default=0.03))
    >>> found[0], found[-1]
    (0.0003, 3.0)
    """
    low, high = bounds.low, bounds.high
    if bounds.default and bounds.default - low < (high - low) / (2 * _STEPS):
        shares = [10 ** (_DECADES * (i / (_STEPS / 2) - 1)) for i in range(_STEPS + 1)]
        found = [_rounded(min(max(bounds.default * share, low), high)) for share in shares]
    else:
        found = [_rounded(low + (high - low) * i / _STEPS) for i in range(_STEPS + 1)]
    known = {*found, *([] if bounds.default is None else [bounds.default])}
    return sorted(stop for stop in known if bounds.holds(stop))


def _rounded(value: float) -> float:
    """Return a number with two digits, or three beyond one: a slider is no micrometer."""
    return value if value == 0 else round(value, 1 - math.floor(math.log10(abs(value))) + (abs(value) >= 1))
