"""Finite groups as tables.

Elements are numbers. Those of S3, A4, ... are permutations in lexicographic order of their one-line notation (012 is 0,
021 is 1, 102 is 2, ...), those of Z6, Z12, ... are residues. The identity is always 0. Products are read from left to
right, "first left, then right": over S3, 1 times 2 is 021 and then 102, which is 120, element 3.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import permutations
from typing import Final, Literal, get_args

import numpy as np

from anira.config import UserError, nearest
from anira.tasks.base import Ints

GroupName = Literal["S3", "Z6", "A4", "Z12", "S4", "Z24", "A5", "Z60", "S5", "Z120"]
GROUPS: Final[tuple[GroupName, ...]] = get_args(GroupName)
TWINS: Final = {name: GROUPS[i ^ 1] for i, name in enumerate(GROUPS)}
"""Group -> the one with as many elements that is abelian where it is not, or the other way round."""

# Two for each. Not both are odd permutations, nor otherwise alike modulo a normal subgroup: then the number of letters
# would tell something about the product.
_GENERATORS: Final = {
    "S3": ("102", "120"),
    "Z6": ("3", "2"),
    "A4": ("1032", "1203"),
    "Z12": ("3", "4"),
    "S4": ("1203", "1230"),
    "Z24": ("3", "8"),
    "A5": ("12034", "12340"),
    "Z60": ("4", "15"),
    "S5": ("10234", "12340"),
    "Z120": ("8", "15"),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Group:
    """A group by its table.

    >>> s3 = make_group("S3")
    >>> s3.signs, int(s3.table[1, 2]), s3.generators
    (('012', '021', '102', '120', '201', '210'), 3, (2, 3))
    """

    name: GroupName
    signs: tuple[str, ...]
    """How each element is written in a picture: in one-line notation, or as a residue."""
    table: Ints
    """table[a, b] is the product of a and b, in this order."""
    generators: tuple[int, ...]
    """A small generating set."""

    def __len__(self) -> int:
        return len(self.signs)

    @cached_property
    def is_abelian(self) -> bool:
        """Whether the order of the letters never matters."""
        return bool((self.table == self.table.T).all())

    @cached_property
    def commutators(self) -> frozenset[int]:
        """The elements of the commutator subgroup: what is left of a product if all letters are made to commute."""
        inverse = np.argmin(self.table, axis=1)  # the identity is 0
        products = self.table[self.table, self.table[np.ix_(inverse, inverse)]]
        return self.generated(products.ravel().tolist())

    @cached_property
    def cosets(self) -> tuple[Ints, Ints]:
        """Return for each element its image in the abelianisation, and its place among the elements with that image.

        Cosets of the commutator subgroup are numbered by their smallest elements. The place of d r, where r is the
        smallest of its coset, is that of d in the commutator subgroup. For S3: parity, and one of three rotations.
        """
        subgroup = sorted(self.commutators)
        image, place = np.full(len(self), -1), np.zeros(len(self), dtype=np.int64)
        for smallest in range(len(self)):
            if image[smallest] < 0:
                coset = self.table[subgroup, smallest]
                image[coset], place[coset] = image.max() + 1, np.arange(len(subgroup))
        return image, place

    def generated(self, elements: Iterable[int]) -> frozenset[int]:
        """Return the elements of the subgroup that some elements generate.

        >>> sorted(make_group("S3").generated([3]))
        [0, 3, 4]
        """
        letters = sorted(set(elements))
        found, new = {0}, {0}
        while new:
            new = set(self.table[np.ix_(sorted(new), letters)].ravel().tolist()) - found
            found |= new
        return frozenset(found)

    def prefix_products(self, letters: Ints) -> Ints:
        """Return g_1, g_1 g_2, ..., g_1 ... g_T along the first axis.

        >>> make_group("S3").prefix_products(np.array([1, 2, 4])).tolist()
        [1, 3, 0]
        """
        flat, size = self.table.ravel(), len(self)
        products = letters.copy()
        for t in range(1, len(letters)):
            products[t] = flat.take(products[t - 1] * size + letters[t])
        return products


@cache
def make_group(name: str) -> Group:
    """Return a group by its name."""
    if name not in GROUPS:
        raise UserError(f"unknown group {name!r}: {nearest(name, GROUPS)}")
    kind, number = name[0], int(name[1:])
    if kind == "Z":
        signs, table = tuple(map(str, range(number))), _addition(number)
    else:
        orders = [order for order in permutations(range(number)) if kind == "S" or _is_even(order)]
        signs, table = tuple("".join(map(str, order)) for order in orders), _composition(np.array(orders))
    table.flags.writeable = False  # shared by everybody who asks
    generators = tuple(signs.index(sign) for sign in _GENERATORS[name])
    return Group(name=GROUPS[GROUPS.index(name)], signs=signs, table=table, generators=generators)


@cache
def join(name: str, subgroup: frozenset[int], element: int) -> frozenset[int]:
    """Return the smallest subgroup with all of `subgroup` and one more element; each is worked out once."""
    return subgroup if element in subgroup else make_group(name).generated([*subgroup, element])


def _is_even(order: Sequence[int]) -> bool:
    """Count inversions.

    >>> _is_even((1, 2, 0)), _is_even((1, 0, 2))
    (True, False)
    """
    return sum(a > b for i, b in enumerate(order) for a in order[:i]) % 2 == 0


def _addition(number: int) -> Ints:
    return np.add.outer(np.arange(number), np.arange(number)).astype(np.int32) % number


def _composition(orders: Ints) -> Ints:
    """Return the table of permutations given in one-line notation, ascending: x goes to b[a[x]]."""
    digits = orders.shape[1] ** np.arange(orders.shape[1])[::-1]
    composed = np.stack([orders[:, order] for order in orders])  # (a, b, x)
    table: Ints = np.searchsorted(orders @ digits, composed @ digits).astype(np.int32)
    return table
