"""Words in plain Python: draw letters, carry out one permutation after the other, write the row down."""

from collections.abc import Sequence
from functools import cache
from itertools import permutations
from random import Random

from anira.tasks.words import WordsConfig

BOS, EOS, ANSWER, FIRST_ELEMENT = range(1, 5)  # 0 is padding
IGNORE = -100

Permutation = tuple[int, ...]
GENERATORS = {
    "S3": (2, 3),
    "Z6": (3, 2),
    "A4": (3, 4),
    "Z12": (3, 4),
    "S4": (8, 9),
    "Z24": (3, 8),
    "A5": (15, 16),
    "Z60": (4, 15),
    "S5": (24, 33),
    "Z120": (8, 15),
}
"""Group -> the two letters that generate it."""


def generate(rng: Random, config: WordsConfig, knob: int | None = None) -> tuple[list[int], list[int]]:
    """Return the input ids and the labels of one row."""
    elements = list_elements(config.group)
    letters = range(len(elements)) if config.letters == "all" else GENERATORS[config.group]
    size = rng.randint(config.min_letters, config.max_letters) if knob is None else knob
    word = [rng.choice(letters) for _ in range(size)]
    return write(word, solve(word, elements), config, every=knob is None)


@cache
def list_elements(group: str) -> list[Permutation]:
    """Return a group's elements as permutations, in lexicographic order; Z6 is the rotations of six points.

    >>> list_elements("S3")[:3], list_elements("Z6")[2]
    ([(0, 1, 2), (0, 2, 1), (1, 0, 2)], (2, 3, 4, 5, 0, 1))
    """
    kind, points = group[0], range(int(group[1:]))
    if kind == "Z":
        return [tuple((x + turn) % len(points) for x in points) for turn in points]
    return [order for order in permutations(points) if kind == "S" or inversions(order) % 2 == 0]


def inversions(order: Permutation) -> int:
    """Return how many pairs stand in the wrong order."""
    return sum(order[i] > order[j] for j in range(len(order)) for i in range(j))


def solve(word: Sequence[int], elements: Sequence[Permutation]) -> list[int]:
    """Return the product of every prefix of a word: the first letter is carried out first.

    >>> solve([1, 2, 4], list_elements("S3"))
    [1, 3, 0]
    """
    so_far, products = elements[0], []
    for letter in word:
        so_far = tuple(elements[letter][x] for x in so_far)
        products.append(elements.index(so_far))
    return products


def write(
    word: Sequence[int], products: Sequence[int], config: WordsConfig, *, every: bool
) -> tuple[list[int], list[int]]:
    """Return the row and its labels; `every` product is a label, or in the final form only the last one."""
    letters, answers = ([FIRST_ELEMENT + element for element in part] for part in (word, products))
    if config.form == "final":
        ids = [BOS, *letters, ANSWER, answers[-1], EOS]
        return ids, [*[IGNORE] * (len(ids) - 2), answers[-1], IGNORE]
    hidden = 0 if every else len(word) - 1
    return [BOS, *letters, EOS], [IGNORE, IGNORE, *[IGNORE] * hidden, *answers[hidden:]]
