"""The authors' rule: without commas, the last number of what was written, compared as a number."""

import re
from typing import Final

_NUMBER: Final = re.compile(r"-?\d+\.?\d*", re.ASCII)


def last_number(text: str) -> float | None:
    """Return the last number in a text, or None where there is none.

    >>> last_number("She sells 1,200 eggs. The final answer is 1,234.50."), last_number("45.0"), last_number("none")
    (1234.5, 45.0, None)
    >>> last_number("The final answer is -3.")
    -3.0
    """
    found = _NUMBER.findall(text.replace(",", ""))
    return float(found[-1]) if found else None


def is_right(text: str, gold: float) -> bool:
    """Say whether an answer ends in the right number.

    >>> is_right("The final answer is 45.", 45.0), is_right("The final answer is 32", 32.5)
    (True, False)
    """
    return last_number(text) == gold
