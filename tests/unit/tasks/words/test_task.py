"""Words: the random laws of both generators against exact ones, and what every option changes."""

import random
from collections import Counter
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from scipy import stats

from anira.config import UserError
from anira.tasks.words import GROUPS, TWINS, Words, WordsConfig
from benchmarks.plain import words as plain

Made = list[tuple[list[int], list[int]]]
Rows = Callable[[WordsConfig, int | None, int], Made]


@cache
def vectorised_rows(config: WordsConfig, knob: int | None, count: int) -> Made:
    rows = Words(config).rows(seed=1, stream="train", start=0, count=count, knob=knob)
    return [(rows.ids(i), rows.labels[i, : rows.lengths[i]].tolist()) for i in range(count)]


@cache
def plain_rows(config: WordsConfig, knob: int | None, count: int) -> Made:
    rng = random.Random(1)
    return [plain.generate(rng, config, knob) for _ in range(count)]


# The rows are fixed, so a test passes always or never. A p-value below this does not happen to one of a hundred laws
# that hold; every wrong law that we thought of gives less than 1e-9.
CHANCE = 1e-5
both = pytest.mark.parametrize("rows", [vectorised_rows, plain_rows])


def chi_square(observed: Counter, expected: dict) -> float:
    """Return the p-value of counts against probabilities."""
    assert set(observed) <= set(expected)
    total = observed.total()
    return float(stats.chisquare([observed[k] for k in expected], [p * total for p in expected.values()]).pvalue)


def uniform(outcomes: object) -> dict:
    kinds = list(outcomes)  # type: ignore[call-overload]
    return dict.fromkeys(kinds, 1 / len(kinds))


@both
@pytest.mark.parametrize("form", ["dense", "final"])
def test_lengths_are_uniform(rows: Rows, form: str) -> None:
    config = WordsConfig(min_letters=3, max_letters=8, form=form)
    extra = {"dense": 2, "final": 4}[form]
    observed = Counter(len(ids) - extra for ids, _ in rows(config, None, 4096))
    assert chi_square(observed, uniform(range(3, 9))) > CHANCE


@both
def test_letters_are_uniform_and_independent_of_each_other(rows: Rows) -> None:
    observed = Counter((ids[2], ids[5]) for ids, _ in rows(WordsConfig(), 6, 8192))
    assert chi_square(observed, uniform((a, b) for a in range(4, 10) for b in range(4, 10))) > CHANCE


@both
@pytest.mark.parametrize("group", ["S3", "Z6", "A4", "Z24"])
def test_products_over_all_letters_are_uniform_at_every_place(rows: Rows, group: str) -> None:
    size = int({"S3": 6, "Z6": 6, "A4": 12, "Z24": 24}[group])
    made = rows(WordsConfig(group=group, min_letters=5, max_letters=5), None, 4096)
    for place in range(2, 7):
        assert chi_square(Counter(labels[place] for _, labels in made), uniform(range(4, 4 + size))) > CHANCE


@both
@pytest.mark.parametrize("group", ["S3", "Z6", "A5", "Z60"])
@pytest.mark.parametrize("size", [2, 6])
def test_products_over_generators_follow_the_exact_law(rows: Rows, group: str, size: int) -> None:
    config = WordsConfig(group=group, letters="generators", form="final")
    law = {4 + element: share for element, share in enumerate(Words(config).law(size)) if share}
    assert sum(law.values()) == pytest.approx(1)
    assert chi_square(Counter(ids[-2] for ids, _ in rows(config, size, 8192)), law) > CHANCE


@pytest.mark.parametrize("letters", ["all", "generators"])
@pytest.mark.parametrize("group", GROUPS)
def test_the_law_is_that_of_all_words(group: str, letters: str) -> None:
    task = Words(WordsConfig(group=group, letters=letters))
    size = 4 if letters == "generators" else 2
    grid = np.stack(np.meshgrid(*[np.array(task.letters)] * size)).reshape(size, -1)
    products = task.group.prefix_products(grid)[-1]
    counts = np.bincount(products, minlength=len(task.group))
    assert task.law(size) == pytest.approx(counts / counts.sum())


@pytest.mark.parametrize(
    ("group", "shortcut"),
    [("S3", 1 / 3), ("A4", 1 / 4), ("S4", 1 / 12), ("A5", 1 / 60), ("S5", 1 / 60), ("Z6", 1.0), ("Z60", 1.0)],
)
def test_baselines_over_all_letters(group: str, shortcut: float) -> None:
    task = Words(WordsConfig(group=group))
    for size in (1, 2, 7):
        assert task.baselines(size) == pytest.approx((1 / len(task.group), shortcut))


def test_baselines_over_generators_are_higher_in_short_words() -> None:
    tasks = {group: Words(WordsConfig(group=group, letters="generators")) for group in ("S3", "Z6", "A5", "Z60")}
    majorities = {group: [round(task.baselines(t).majority, 3) for t in (1, 5, 10)] for group, task in tasks.items()}
    assert majorities == {
        "S3": [0.5, 0.188, 0.167],
        "Z6": [0.5, 0.312, 0.246],
        "A5": [0.5, 0.094, 0.039],
        "Z60": [0.5, 0.312, 0.246],  # only the number of the first letter counts: 11 products of 10 letters
    }


def test_the_shortcut_is_right_as_often_as_parity_tells() -> None:
    task = Words(WordsConfig(letters="generators"))
    rows = task.rows(seed=0, stream="eval", start=0, count=4096, knob=4)
    image, _ = task.group.cosets
    products = rows.labels[np.arange(4096), rows.lengths - 1] - 4
    law = task.law(4)
    best = [max((e for e in range(6) if image[e] == one), key=lambda e: law[e]) for one in (0, 1)]
    share = np.mean([product == best[image[product]] for product in products])
    assert share == pytest.approx(task.baselines(4).shortcut, abs=0.03)


@pytest.mark.parametrize("letters", ["all", "generators"])
@pytest.mark.parametrize("knob", [None, 7])
@pytest.mark.parametrize("name", ["S3", "A4", "S4", "A5", "S5"])
def test_twins_have_the_same_words(name: str, knob: int | None, letters: str) -> None:
    """Lengths, positions, number of letters and tokens are the same; over all letters the very words are."""
    tasks = [Words(WordsConfig(group=group, letters=letters)) for group in (name, TWINS[name])]
    one, other = (task.rows(seed=5, stream="valid", start=40, count=300, knob=knob) for task in tasks)
    assert tasks[0].vocab.tokens == tasks[1].vocab.tokens
    assert (one.lengths == other.lengths).all()
    assert (one.knob == other.knob).all()
    assert ((one.labels == -100) == (other.labels == -100)).all()
    if letters == "all":
        assert (one.input_ids == other.input_ids).all()
    else:
        first, second = (
            np.select([rows.input_ids == 4 + letter for letter in task.letters], [100, 101], rows.input_ids)
            for task, rows in zip(tasks, (one, other), strict=True)
        )
        assert (first == second).all()
    if knob != 1:
        assert (one.labels != other.labels).any()


def test_the_form_changes_how_words_are_written_and_nothing_else() -> None:
    dense, final = (Words(WordsConfig(form=form)) for form in ("dense", "final"))
    for knob in (None, 4):
        one, other = (task.rows(seed=0, stream="train", start=0, count=200, knob=knob) for task in (dense, final))
        assert (one.knob == other.knob).all()
        for i in range(200):
            words = [task.instance(rows, i) for task, rows in ((dense, one), (final, other))]
            assert words[0].question == words[1].question.removesuffix(" <ans>")
            assert (words[0].answer, words[0].picture) == (words[1].answer, words[1].picture)
            assert one.answer(i)[-1:] == other.answer(i)


def test_a_fixed_knob_asks_for_the_last_product_only() -> None:
    task = Words(WordsConfig(min_letters=10))
    rows = task.rows(seed=0, stream="eval", start=0, count=50, knob=6)
    assert {tuple(rows.answer_positions(i)) for i in range(50)} == {(7,)}
    assert set(rows.lengths) == {8}
    trained = task.rows(seed=0, stream="eval", start=0, count=50)
    assert {tuple(trained.answer_positions(i)) for i in range(50)} == {tuple(range(2, 12))}
    assert set(trained.knob) == {10}


@pytest.mark.parametrize(("form", "seen"), [("dense", range(1, 9)), ("final", range(5, 9))])
def test_places_in_longer_words_are_trained_in_the_dense_form(form: str, seen: range) -> None:
    task = Words(WordsConfig(min_letters=5, max_letters=8, form=form))
    assert task.knob.seen == tuple(seen)
    assert (task.knob.minimum, task.knob.maximum) == (1, 1000)


def test_only_groups_with_a_proper_shortcut_have_its_probes() -> None:
    for group in GROUPS:
        names = [probe.name for probe in Words(WordsConfig(group=group)).probe_specs]
        assert ("abelian_image" in names) == ("abelian_rest" in names) == (group in ("S3", "A4", "S4", "S5"))


def test_letters_are_those_of_the_option() -> None:
    task = Words(WordsConfig(group="S4", letters="generators"))
    rows = task.rows(seed=0, stream="train", start=0, count=100)
    letters = {token for i in range(100) for token in rows.ids(i)[1:-1]}
    assert {task.group.signs[token - 4] for token in letters} == {"1203", "1230"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"group": "S6"}, "unknown group 'S6'"),
        ({"group": "a4"}, "unknown group 'a4'"),
        ({"form": "dence"}, "unknown form 'dence': did you mean 'dense'"),
        ({"letters": "generator"}, "unknown letters 'generator': did you mean 'generators'"),
        ({"min_letters": 0}, "1 <= min_letters <= max_letters <= 1000, not 0, 10"),
        ({"min_letters": 11}, "not 11, 10"),
        ({"max_letters": 1001}, "not 1, 1001"),
    ],
)
def test_contradictions_are_refused(options: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        WordsConfig(**options)


@pytest.mark.parametrize(
    ("options", "question", "message"),
    [
        ({}, "", "T = 0 is out of range"),
        ({}, "<bos>", "T = 0 is out of range"),
        ({}, "1 6", "unknown token '6'"),
        ({}, "1 2 <ans>", "'<ans>' is not a letter of a word over S3"),
        ({"form": "final"}, "1 <ans> 2", "'<ans>' is not a letter"),
        ({"form": "final"}, "1 2 <ans> <ans>", "'<ans>' is not a letter"),
        ({}, "1 <eos>", "'<eos>' is not a letter"),
        ({}, "1 01", "unknown token '01'"),
        ({"letters": "generators"}, "2 3 4", r"'4' is not a letter of a word over S3 \(numbers go from 2 to 3 here\)"),
        ({}, "1 " * 1001, "T = 1001 is out of range"),
    ],
)
def test_what_is_no_question_is_refused(options: dict, question: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Words(WordsConfig(**options)).read(question)
