"""Whole numbers as people write many of them: 3:16, or 10,20,50."""

from collections.abc import Sequence

from anira.config.errors import UserError


def parse_integers(text: str, what: str) -> list[int]:
    """Return the numbers that a text names; both ends of a range count. `what` they are is said where it names none.

    >>> parse_integers("3:5,9", "knobs")
    [3, 4, 5, 9]
    """
    numbers: list[int] = []
    for part in text.split(","):
        ends = [end.strip() for end in part.split(":")]
        if len(ends) > 2 or not all(end.isdecimal() and len(end) < 10 for end in ends):
            raise UserError(f"{what} are written as 3:16 or 10,20,50, not {text!r}")
        first, last = int(ends[0]), int(ends[-1])
        if last - first > _MOST:
            raise UserError(f"{what} must be fewer than {_MOST:,}: {text!r}")
        numbers += range(first, last + 1)
    return numbers


def span(values: Sequence[int]) -> str:
    """Write ascending numbers shortly.

    >>> span([3, 4, 5]), span((10, 20)), span([])
    ('3 to 5', '10, 20', 'none')
    """
    if len(values) > 2 and list(values) == list(range(values[0], values[-1] + 1)):
        return f"{values[0]} to {values[-1]}"
    return ", ".join(map(str, values)) or "none"


_MOST = 1_000_000
