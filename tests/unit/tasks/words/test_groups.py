"""The ten groups: axioms, the convention of products against permutations, subgroups, cosets and generators."""

from itertools import permutations, product

import numpy as np
import pytest

from anira.config import UserError
from anira.tasks.words import GROUPS, TWINS, Words, WordsConfig, make_group
from anira.tasks.words.groups import join
from benchmarks.plain import words as plain

every_group = pytest.mark.parametrize("name", GROUPS)
SIZES = {"S3": 6, "Z6": 6, "A4": 12, "Z12": 12, "S4": 24, "Z24": 24, "A5": 60, "Z60": 60, "S5": 120, "Z120": 120}
COMMUTATORS = {"S3": 3, "A4": 4, "S4": 12, "A5": 60, "S5": 60}  # 1 of the others


@every_group
def test_tables_are_those_of_groups(name: str) -> None:
    table = make_group(name).table
    everything = np.arange(SIZES[name])
    assert table.shape == (SIZES[name], SIZES[name])
    assert (table[0] == everything).all() and (table[:, 0] == everything).all()
    for part in (table, table.T):
        assert (np.sort(part, axis=1) == everything).all()
    assert (table[table] == table[:, table]).all()  # (a b) c = a (b c), all of them


@every_group
def test_products_are_those_of_permutations_first_left_then_right(name: str) -> None:
    group, elements = make_group(name), plain.list_elements(name)
    assert elements == sorted(elements)
    for a, b in product(range(0, len(group), 7), range(len(group))):
        first, second = elements[a], elements[b]
        composed = tuple(second[first[x]] for x in range(len(first)))
        assert elements[group.table[a, b]] == composed


@pytest.mark.parametrize("name", ["S3", "A4", "S4", "A5", "S5"])
def test_signs_are_in_one_line_notation(name: str) -> None:
    signs = ["".join(map(str, element)) for element in plain.list_elements(name)]
    assert list(make_group(name).signs) == signs
    everything = {"".join(order) for order in permutations("01234"[: len(signs[0])])}
    assert set(signs) <= everything
    assert len(everything) == len(signs) * (1 if name[0] == "S" else 2)


@every_group
def test_a_group_is_abelian_exactly_if_it_is_cyclic_here(name: str) -> None:
    group = make_group(name)
    assert group.is_abelian == name.startswith("Z")
    commute = all(group.table[a, b] == group.table[b, a] for a, b in product(range(len(group)), repeat=2))
    assert group.is_abelian == commute


def test_twins_have_one_size_and_one_of_them_is_abelian() -> None:
    assert {(TWINS[name], TWINS[TWINS[name]]) for name in GROUPS} == {(TWINS[name], name) for name in GROUPS}
    for name in GROUPS:
        one, other = make_group(name), make_group(TWINS[name])
        assert len(one) == len(other) == SIZES[name]
        assert one.is_abelian != other.is_abelian
        assert len(one.generators) == len(other.generators) == 2


@every_group
def test_generators_reach_everything_with_any_large_number_of_letters(name: str) -> None:
    """If both were odd, an even number of letters would give even products only."""
    group = make_group(name)
    assert len(group.generated(group.generators)) == len(group)
    assert plain.GENERATORS[name] == group.generators
    for letters in (300, 301):
        assert np.count_nonzero(Words(WordsConfig(group=name, letters="generators")).law(letters)) == len(group)


@every_group
def test_commutators_and_their_cosets(name: str) -> None:
    group = make_group(name)
    inverse = {a: int(np.flatnonzero(group.table[a] == 0)[0]) for a in range(len(group))}
    assert len(group.commutators) == COMMUTATORS.get(name, 1)
    image, place = group.cosets
    assert len({*zip(image.tolist(), place.tolist(), strict=True)}) == len(group)
    assert image.max() + 1 == len(group) / len(group.commutators)
    for a, b in product(range(0, len(group), 5), range(len(group))):
        same = int(group.table[a, inverse[b]]) in group.commutators
        assert (image[a] == image[b]) == same
        # The image of a product follows from the images: that is what makes it a shortcut.
        firsts = [int(np.flatnonzero(image == image[x])[0]) for x in (a, b)]
        assert image[group.table[a, b]] == image[group.table[firsts[0], firsts[1]]]


def test_the_image_of_a_permutation_is_its_parity() -> None:
    for name in ("S3", "S4", "S5"):
        parities = [plain.inversions(element) % 2 for element in plain.list_elements(name)]
        assert make_group(name).cosets[0].tolist() == parities


@pytest.mark.parametrize("name", ["S3", "A4", "Z12", "S4"])
def test_subgroups_by_brute_force(name: str) -> None:
    group = make_group(name)
    for a, b in product(range(len(group)), repeat=2):
        found = {0, a, b}
        while len(more := found | {int(group.table[x, y]) for x in found for y in found}) > len(found):
            found = more
        assert group.generated([a, b]) == join(name, group.generated([a]), b) == found


def test_an_unknown_group_is_refused() -> None:
    with pytest.raises(UserError, match="unknown group 'S6': known: A4, A5, S3, "):
        make_group("S6")


def test_a_table_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        make_group("S3").table[0, 0] = 1
