"""Words that hypothesis draws: products against permutations, probes against their definitions, rows in every form."""

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from anira.config import UserError
from anira.tasks.words import GROUPS, TWINS, Words, WordsConfig, make_group
from benchmarks.plain import words as plain

groups = st.sampled_from(GROUPS)
forms = st.sampled_from(["dense", "final"])
kinds = st.sampled_from(["all", "generators"])
quick = settings(deadline=None)


@st.composite
def words(draw: st.DrawFn) -> tuple[str, list[int]]:
    """Draw a group and a word over it."""
    name = draw(groups)
    return name, draw(st.lists(st.integers(0, len(make_group(name)) - 1), min_size=1, max_size=20))


def product(name: str, word: list[int]) -> int:
    return int(make_group(name).prefix_products(np.array([0, *word]))[-1])


@quick
@given(words(), forms)
def test_products_agree_with_permutations(drawn: tuple[str, list[int]], form: str) -> None:
    name, word = drawn
    task = Words(WordsConfig(group=name, form=form))
    rows = task.read(" ".join(map(str, word)))
    truth = plain.solve(word, plain.list_elements(name))
    assert task.vocab.decode(rows.answer(0)) == str(truth[-1]) == task.instance(rows, 0).answer
    assert task.probes(rows, 0)["product"][1 : len(word) + 1].tolist() == truth
    assert plain.write(word, truth, task.config, every=False) == (rows.ids(0), rows.labels[0].tolist())
    assert rows.knob[0] == len(word)


@quick
@given(words(), st.data())
def test_products_are_associative(drawn: tuple[str, list[int]], data: st.DataObject) -> None:
    name, word = drawn
    cut = data.draw(st.integers(0, len(word)))
    assert make_group(name).table[product(name, word[:cut]), product(name, word[cut:])] == product(name, word)


@quick
@given(words(), st.randoms(use_true_random=False))
def test_order_matters_only_where_letters_do_not_commute(drawn: tuple[str, list[int]], shuffler: random.Random) -> None:
    name, word = drawn
    task, other = Words(WordsConfig(group=name)), list(word)
    shuffler.shuffle(other)
    commuting = task.instance(task.read(" ".join(map(str, word))), 0).meta["commuting"]
    table = make_group(name).table
    assert commuting == all(table[a, b] == table[b, a] for a in word for b in word)
    if commuting:
        assert product(name, word) == product(name, other)
    # Whatever the order, the image in the abelianisation stays.
    image, _ = make_group(name).cosets
    assert image[product(name, word)] == image[product(name, other)]


@quick
@given(words())
def test_probes_follow_their_definitions(drawn: tuple[str, list[int]]) -> None:
    name, word = drawn
    task = Words(WordsConfig(group=name))
    probes = task.probes(task.read(" ".join(map(str, word))), 0)
    table = make_group(name).table
    image, rest = task.group.cosets
    for t in range(1, len(word) + 1):
        found = {key: values[t] for key, values in probes.items()}
        so_far = product(name, word[:t])
        generated = {0}
        while len(more := generated | {int(table[x, y]) for x in generated for y in word[:t]}) > len(generated):
            generated = more
        wanted = {"t": t, "product": so_far, "is_identity": so_far == 0, "subgroup_size": len(generated)}
        if "abelian_image" in found:
            wanted |= {"abelian_image": image[so_far], "abelian_rest": rest[so_far]}
        assert found == wanted


@quick
@given(st.integers(0, 2**32), st.integers(0, 10**9), groups, forms, kinds, st.sampled_from([None, 1, 5, 30]))
def test_generated_rows_are_solved_by_the_plain_solver(
    seed: int, start: int, name: str, form: str, letters: str, knob: int | None
) -> None:
    task = Words(WordsConfig(group=name, form=form, letters=letters))
    rows = task.rows(seed=seed, stream="valid", start=start, count=4, knob=knob)
    for i in range(4):
        word = [int(letter) for letter in task.instance(rows, i).question.removesuffix(" <ans>").split()]
        truth = plain.solve(word, plain.list_elements(name))
        made = plain.write(word, truth, task.config, every=knob is None)
        assert (rows.ids(i), rows.labels[i, : rows.lengths[i]].tolist()) == made
        assert rows.knob[i] == len(word)
        assert set(word) <= set(task.letters)


@quick
@given(st.integers(), groups, forms, kinds, st.one_of(st.none(), st.integers(1, 40)))
def test_rows_of_the_plain_generator_are_read_back(
    seed: int, name: str, form: str, letters: str, knob: int | None
) -> None:
    task = Words(WordsConfig(group=name, form=form, letters=letters))
    ids, labels = plain.generate(random.Random(seed), task.config, knob)
    tail = {"dense": 1, "final": 2}[form]
    rows = task.read(task.vocab.decode(ids[:-tail]))
    assert rows.ids(0) == ids
    assert rows.answer(0) == [label for label in labels if label != -100][-1:]
    assert rows.knob[0] == knob or (knob is None and 1 <= rows.knob[0] <= 10)


@quick
@given(st.integers(0, 5000), st.integers(1, 50), groups, forms)
def test_rows_do_not_depend_on_the_batch(start: int, count: int, name: str, form: str) -> None:
    task = Words(WordsConfig(group=name, form=form))
    batch = task.rows(seed=1, stream="train", start=start, count=count)
    alone = task.rows(seed=1, stream="train", start=start + count - 1, count=1)
    assert alone.ids(0) == batch.ids(count - 1)
    assert (alone.answer(0), alone.answer_positions(0)) == (batch.answer(count - 1), batch.answer_positions(count - 1))


@quick
@given(st.integers(0, 4095), groups)
def test_a_dense_row_asks_what_its_prefixes_ask(start: int, name: str) -> None:
    task = Words(WordsConfig(group=name))
    rows = task.rows(seed=3, stream="train", start=start, count=1)
    letters = task.instance(rows, 0).question.split()
    for t in range(1, len(letters) + 1):
        prefix = task.read(" ".join(letters[:t]))
        assert prefix.ids(0)[:-1] == rows.ids(0)[: t + 1]
        assert prefix.answer(0) == rows.answer(0)[t - 1 : t]


@quick
@given(st.integers(0, 10**6), groups, forms, st.sampled_from([None, 1, 3, 12]))
def test_twins_differ_in_their_products_only(start: int, name: str, form: str, knob: int | None) -> None:
    one, other = (Words(WordsConfig(group=group, form=form)) for group in (name, TWINS[name]))
    rows, twins = (task.rows(seed=0, stream="eval", start=start, count=8, knob=knob) for task in (one, other))
    questions = [[task.instance(made, i).question for i in range(8)] for task, made in ((one, rows), (other, twins))]
    assert questions[0] == questions[1]
    assert [rows.answer_positions(i) for i in range(8)] == [twins.answer_positions(i) for i in range(8)]
    assert np.allclose(one.law(4), 1 / len(one.group))  # so both have the entropy of a fair draw
    assert np.allclose(one.law(4), other.law(4))


@quick
@given(
    forms, st.lists(st.sampled_from(["0", "1", "5", "6", "<bos>", "<ans>", "<eos>", "<pad>", "x", "-1"]), max_size=8)
)
def test_any_other_text_is_an_error_of_the_user(form: str, text: list[str]) -> None:
    task = Words(WordsConfig(form=form))
    try:
        rows = task.read(" ".join(text))
    except UserError as error:
        assert "\n" not in str(error)
    else:
        assert task.vocab.decode(rows.ids(0)).split()[: len(text)] in (text, ["<bos>", *text][: len(text)])
