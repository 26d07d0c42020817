"""Strings: matching a pattern. Two strings are written as one list of symbols and one of the string each belongs to."""

from typing import Final

import numpy as np

from anira.config import UserError
from anira.tasks.clrs.sampling import Instances

SYMBOLS: Final = 4
_TEXT_PER_PATTERN: Final = 5  # the pattern is one symbol in so many, and at least one


def join(first: list[int], second: list[int]) -> tuple[list[int], list[int]]:
    """Return the lists `string` and `key` of two strings.

    >>> join([1, 1, 3], [0, 1])
    ([0, 0, 0, 1, 1], [1, 1, 3, 0, 1])
    """
    return [0] * len(first) + [1] * len(second), first + second


def split(string: list[int], key: list[int]) -> tuple[list[int], list[int]]:
    """Return the two strings that `string` and `key` hold."""
    cut = string.count(0)
    if not 0 < cut < len(string) or string != [0] * cut + [1] * (len(string) - cut):
        raise UserError("string must be some 0 (the first string), then some 1 (the second)")
    return key[:cut], key[cut:]


def draw_matching(rng: np.random.Generator, count: int, n: int) -> Instances:
    """Draw a pattern and a text, n symbols together, and plant the pattern anywhere but at the very end."""
    length = max(1, n // _TEXT_PER_PATTERN)
    places = max(1, n - 2 * length)  # of n = 2 only one is left, the end itself
    pattern = rng.integers(0, SYMBOLS, size=(count, length)).tolist()
    text = rng.integers(0, SYMBOLS, size=(count, n - length)).tolist()
    for row, place in enumerate(rng.integers(0, places, size=count).tolist()):
        text[row][place : place + length] = pattern[row]
    return [join(one, other) for one, other in zip(text, pattern, strict=True)]


def string_matching(string: list[int], key: list[int]) -> tuple[int]:
    """Return where the second string occurs first in the first one."""
    text, pattern = split(string, key)
    for place in range(len(text) - len(pattern) + 1):
        if text[place : place + len(pattern)] == pattern:
            return (place,)
    raise UserError("the second string does not occur in the first")
