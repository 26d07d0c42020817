"""The values that CLRS questions and answers are made of, and their text.

    a number        `0.646`, `2`
    a list          `[0.548 0.715 0.602]`
    a square matrix `[[0 0.341], [0.341 0]]`

The two styles differ in reals only: upstream writes a zero weight as `0.0`, we write `0`, as the published sets do.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal, get_args

from anira.config import UserError

Style = Literal["upstream", "anira"]
STYLES: Final = get_args(Style)
Value = Any  # int, float, or a list of them, or a list of such lists: what Field.dims and Field.real say

_INTEGER: Final = re.compile(r"-?[0-9]+")
_WHOLE: Final = re.compile(r"(?<![\d.])-?\d+\.0(?!\d)")
_REAL: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?")
_LONGEST: Final = 32  # characters of a number; Python writes a float with 24 at most
_LARGEST: Final = 10**9
"""Numbers of rows are far below; with this bound no sum or product of any algorithm leaves its 64 bits."""


@dataclass(frozen=True)
class Field:
    """A named value: a number (dims 0), a list (1) or a matrix (2), of integers or of reals."""

    name: str
    dims: Literal[0, 1, 2]
    real: bool

    def write(self, value: Value, style: Style) -> str:
        """Return the text of a value.

        >>> Field("A", 2, True).write([[0.0, 0.25], [0.25, 1.0]], "anira")
        '[[0 0.25], [0.25 1]]'
        >>> Field("A", 2, True).write([[0.0, 0.25], [0.25, 1.0]], "upstream")
        '[[0.0 0.25], [0.25 1.0]]'
        >>> Field("x", 1, True).write([-0.0], "anira"), Field("x", 1, True).write([-0.0], "upstream")
        ('[0]', '[-0.0]')
        """
        number = str if not self.real else _upstream_real if style == "upstream" else _short_real
        if self.dims == 0:
            return number(value)
        if self.dims == 1:
            return f"[{' '.join(map(number, value))}]"
        rows = [" ".join(map(number, row)) for row in value]
        return f"[[{'], ['.join(rows)}]]"

    def read(self, text: str) -> Value:
        """Return the value that a text stands for.

        >>> Field("d", 1, False).read("[2 1 3]")
        [2, 1, 3]
        """
        opening, closing = "[" * self.dims, "]" * self.dims
        if not (text.startswith(opening) and text.endswith(closing) and len(text) >= 2 * self.dims):
            raise UserError(f"{self.name} must be {_FORMS[self.dims]}, not {quoted(text)}")
        inner = text[self.dims : len(text) - self.dims]
        if self.dims == 0:
            return self._number(inner)
        if self.dims == 1:
            return self._numbers(inner)
        return [self._numbers(row) for row in inner.split("], [")]

    def _numbers(self, text: str) -> list[Any]:
        return [self._number(word) for word in text.split(" ")] if text else []

    def _number(self, word: str) -> int | float:
        if len(word) > _LONGEST or not (_REAL if self.real else _INTEGER).fullmatch(word):
            raise UserError(
                f"{self.name} holds {quoted(word)} where {'a number' if self.real else 'an integer'} belongs"
            )
        value = float(word) if self.real else int(word)
        if abs(value) > _LARGEST:
            raise UserError(f"{self.name} holds {quoted(word)}, and numbers end at {_LARGEST:,}")
        return value


_FORMS: Final = ("a number", "a list such as [1 2 3]", "a matrix such as [[1 2], [3 4]]")


def layout(text: str) -> tuple[Field, ...]:
    """Return the fields that a pattern names, with x for a real and i for an integer.

    >>> layout("s: i, A: [[x]]")
    (Field(name='s', dims=0, real=False), Field(name='A', dims=2, real=True))
    """
    parts = [part.split(": ") for part in text.split(", ")]
    dims: dict[int, Literal[0, 1, 2]] = {0: 0, 1: 1, 2: 2}
    return tuple(Field(name, dims[form.count("[")], "x" in form) for name, form in parts)


def _upstream_real(value: float) -> str:
    # 0.0 and -0.0 are equal, so that a cache takes one for the other.
    return _written(value) if value else repr(float(value))


# Reals have 3 decimals, so a few thousand texts are all there are; looking one up is far cheaper than writing it.
@lru_cache(maxsize=8192)
def _written(value: float) -> str:
    return repr(float(value))


@lru_cache(maxsize=8192)
def _short_real(value: float) -> str:
    return repr(float(value) + 0.0).removesuffix(".0")  # adding zero takes the sign off a zero


def shorten_reals(text: str) -> str:
    """Write whole reals without their decimals, as our style does, and leave every other number as it is.

    >>> shorten_reals("A: [[0.0 1.0], [-0.0 0.05]]")
    'A: [[0 1], [0 0.05]]'
    """
    return _WHOLE.sub(lambda match: match[0].removesuffix(".0").removeprefix("-" if float(match[0]) == 0 else ""), text)


def quoted(value: Any) -> str:
    """Return what an error message shows of a value from elsewhere, which may be of any length."""
    if isinstance(value, str):
        return ascii(value if len(value) <= 40 else f"{value[:37]}...")
    try:
        text = ascii(value)
    except (ValueError, RecursionError):  # a number of thousands of digits, lists in lists in lists
        return f"a {type(value).__name__} that is too long to show"
    return text if len(text) <= 40 else f"{text[:37]}..."
