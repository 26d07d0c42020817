"""Numbers as pages write them."""

from anira.measure import Quantity
from anira.measure.quantities import POINTS


def amount(value: float, unit: Quantity) -> str:
    """Write a value as its quantity wants it: shares in percent, their differences in points; no minus before zero.

    >>> from anira.measure import quantity
    >>> amount(0.877, quantity("accuracy")), amount(-0.0001, quantity("slope")), amount(662574.2, quantity("flops"))
    ('87.7%', '0.00', '662,574')
    >>> amount(0.031, quantity("need"))
    '+3.1'
    """
    scaled = 100 * value if unit.percent else value
    sign, mark = ("+", "") if unit.unit == POINTS else ("", "%" if unit.percent else "")
    return f"{scaled:{sign}z,.{unit.digits}f}{mark}"


def interval(low: float | None, high: float | None, unit: Quantity) -> str:
    """Write an interval without units; nothing where there is none.

    >>> from anira.measure import quantity
    >>> interval(0.5, 0.75, quantity("accuracy"))
    '[50.0, 75.0]'
    """
    if low is None or high is None:
        return ""
    return f"[{amount(low, unit).removesuffix('%')}, {amount(high, unit).removesuffix('%')}]"
