"""The numbers and the people of word problems, drawn for many stories at once; how often a number comes out.

A story starts with 2 .. limit things. Each clause picks one of the operations that keep the number within 1 .. limit,
all equally likely, then an amount among those that do: 2 .. 9 to add or to take, always 2 to double or to halve. So 1
can be doubled or grow, 19 of 20 can only shrink by an amount, and every number leads on.
"""

from functools import cache
from typing import Final, NamedTuple

import numpy as np

from anira.tasks.base import Floats, Ints
from anira.tasks.sampling import random_order
from anira.tasks.wordmath.sentences import NAMES, SIGNS, THINGS

LEAST: Final = 2  # amounts and openings: one apple would need another form of the noun
MOST: Final = 9  # of an amount
MAX_CLAUSES: Final = len(NAMES) - 1  # a comparison for everybody but the first


class Stories(NamedTuple):
    """A batch of word problems before they are told; columns beyond a row's own clauses mean nothing."""

    sizes: Ints  # clauses
    compares: Ints  # 1 where people are compared, 0 where things happen to one person
    operations: Ints  # (stories, clauses), numbers into SIGNS
    amounts: Ints  # (stories, clauses)
    values: Ints  # (stories, 1 + clauses), the number at the start and after every clause
    people: Ints  # (stories, all names), everybody in a random order: whom each value belongs to
    things: Ints


def apply(operation: Ints, value: Ints, amount: Ints) -> Ints:
    """Return what an operation makes of a value.

    >>> apply(np.arange(4), np.array([8, 8, 8, 8]), np.array([3, 3, 2, 2])).tolist()
    [11, 5, 16, 4]
    """
    return np.choose(operation, (value + amount, value - amount, value * amount, value // amount))


@cache
def count_amounts(limit: int) -> Ints:
    """Return how many amounts each operation has at every value 0 .. limit; 0 where it is not possible.

    >>> count_amounts(20)[:, [1, 7, 19]].T.tolist()
    [[8, 0, 1, 0], [8, 5, 1, 0], [0, 8, 0, 0]]
    """
    value, span = np.arange(limit + 1), MOST - LEAST + 1
    add = np.clip(limit - value - LEAST + 1, 0, span)
    take = np.clip(value - LEAST, 0, span)
    counts = np.stack([add, take, 2 * value <= limit, value % 2 == 0]).astype(np.int32)
    counts[:, 0] = 0
    counts.flags.writeable = False  # shared by everybody who asks
    return counts


def draw_stories(rng: np.random.Generator, sizes: Ints, *, limit: int, comparison_share: float) -> Stories:
    """Draw problems with the given numbers of clauses, clause by clause for all of them at once."""
    count, width, amounts = len(sizes), int(sizes.max()), count_amounts(limit)
    compares = (rng.random(count) < comparison_share).astype(np.int32)
    things = rng.integers(0, len(THINGS), size=count)
    people = random_order(rng, np.full(count, len(NAMES)), len(NAMES))
    value: Ints = rng.integers(LEAST, limit + 1, size=count)
    chosen = rng.random((width, 2, count), dtype=np.float32)
    steps = []
    for which, how_much in chosen:
        possible = np.cumsum(amounts[:, value] > 0, axis=0)
        operation = (possible <= (which * possible[-1]).astype(np.int32)).sum(axis=0)
        amount = LEAST + (how_much * amounts[operation, value]).astype(np.int32)
        steps.append((operation, amount, value))
        value = apply(operation, value, amount)
    operations, operands, before = np.stack(steps).transpose(1, 2, 0)
    values = np.concatenate([before, value[:, None]], axis=1)
    return Stories(sizes, compares, operations, operands, values, people, things)


@cache
def clause_law(limit: int) -> Floats:
    """Return the probability of (operation, amount, value after it) given the value before, which is the first axis."""
    counts, span = count_amounts(limit), MOST - LEAST + 1
    law = np.zeros((limit + 1, len(SIGNS), span, limit + 1))
    for operation, value in np.argwhere(counts > 0):
        place = np.arange(counts[operation, value])
        share = 1 / ((counts[:, value] > 0).sum() * len(place))
        law[value, operation, place, apply(operation, value, LEAST + place)] = share
    law.flags.writeable = False
    return law


def value_law(size: int, limit: int) -> Floats:
    """Return the exact probability of every value after so many clauses."""
    law = np.where(np.arange(limit + 1) >= LEAST, 1 / (limit + 1 - LEAST), 0.0)
    for _ in range(size):
        law = law @ clause_law(limit).sum(axis=(1, 2))
    return law
