"""MANO: the random laws of both generators against exact ones, and what every option changes."""

import random
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy import stats

from anira.config import UserError
from anira.tasks.mano import Mano, ManoConfig
from benchmarks.plain import mano as plain

Texts = Callable[[ManoConfig, int | None, int], list[list[str]]]


@cache
def vectorised_texts(config: ManoConfig, knob: int | None, count: int) -> list[list[str]]:
    task = Mano(config)
    rows = task.rows(seed=1, stream="train", start=0, count=count, knob=knob)
    return [task.vocab.decode(rows.ids(i)).split() for i in range(count)]


@cache
def plain_texts(config: ManoConfig, knob: int | None, count: int) -> list[list[str]]:
    rng, vocab = random.Random(1), Mano(config).vocab
    return [vocab.decode(plain.generate(rng, config, knob)[0]).split() for _ in range(count)]


# The rows are fixed, so a test passes always or never. A p-value below this does not happen to one of a hundred laws
# that hold; every wrong law that we thought of gives less than 1e-9.
CHANCE = 1e-5
both = pytest.mark.parametrize("texts", [vectorised_texts, plain_texts])


def chi_square(observed: Counter, expected: dict) -> float:
    """Return the p-value of counts against probabilities."""
    assert set(observed) <= set(expected)
    total = observed.total()
    return float(stats.chisquare([observed[k] for k in expected], [p * total for p in expected.values()]).pvalue)


def uniform(outcomes: object) -> dict:
    kinds = list(outcomes)  # type: ignore[call-overload]
    return dict.fromkeys(kinds, 1 / len(kinds))


def size(words: list[str]) -> int:
    return sum(word in "+-*" for word in words)


@cache
def value_law(num_operators: int, modulus: int = 23) -> tuple[float, ...]:
    """Return the exact probability of every value of a random expression, from the laws of its two operands."""
    if num_operators == 0:
        return (1 / modulus,) * modulus
    law = np.zeros(modulus)
    values = np.arange(modulus)
    for left in range(num_operators):
        joint = np.outer(value_law(left, modulus), value_law(num_operators - 1 - left, modulus)).ravel()
        for results in (np.add, np.subtract, np.multiply):
            law += np.bincount(results.outer(values, values).ravel() % modulus, joint, modulus)
    return tuple(law / (3 * num_operators))


@both
@pytest.mark.parametrize(("num_operators", "zero"), [(3, 0.064), (10, 0.070), (16, 0.072)])
def test_values_follow_the_exact_law(texts: Texts, num_operators: int, zero: float) -> None:
    law = value_law(num_operators)
    assert law[0] == pytest.approx(zero, abs=5e-4)
    assert law[1:] == pytest.approx([0.042] * 22, abs=1e-3)
    values = Counter(int(words[-2]) for words in texts(ManoConfig(), num_operators, 8192))
    assert chi_square(values, dict(enumerate(law))) > CHANCE


@cache
def shape_law(num_operators: int) -> dict[str, float]:
    """Return the probability of every shape, written in prefix order with o for an operator and x for an operand."""
    if num_operators == 0:
        return {"x": 1.0}
    law: dict[str, float] = {}
    for left in range(num_operators):
        parts = product(shape_law(left).items(), shape_law(num_operators - 1 - left).items())
        law |= {f"o{a}{b}": p * q / num_operators for (a, p), (b, q) in parts}
    return law


def shape(words: list[str]) -> str:
    return "".join("o" if word in "+-*" else "x" for word in words[1:-3])


def test_shape_law_of_three_operators_is_not_uniform() -> None:
    sixth = pytest.approx(1 / 6)
    assert shape_law(3) == {
        "oxoxoxx": sixth,
        "oxooxxx": sixth,
        "ooxxoxx": pytest.approx(1 / 3),
        "ooxoxxx": sixth,
        "oooxxxx": sixth,
    }


@both
@pytest.mark.parametrize("num_operators", [3, 5])
def test_shapes_follow_the_exact_law(texts: Texts, num_operators: int) -> None:
    observed = Counter(map(shape, texts(ManoConfig(), num_operators, 8192)))
    law = shape_law(num_operators)
    assert len(law) == {3: 5, 5: 42}[num_operators]
    assert chi_square(observed, law) > CHANCE
    assert chi_square(observed, uniform(law)) < 1e-9  # what a sampler of uniform trees would give


def subtree_size(words: list[str]) -> int:
    """Return the number of operators in the expression that `words` begins with."""
    missing, operators = 1, 0
    for word in words:
        missing += 1 if word in "+-*" else -1
        operators += word in "+-*"
        if missing == 0:
            break
    return operators


@both
def test_size_of_the_left_operand_is_uniform(texts: Texts) -> None:
    observed = Counter(subtree_size(words[2:]) for words in texts(ManoConfig(), 12, 8192))
    assert chi_square(observed, uniform(range(12))) > CHANCE


@both
def test_symbols_are_uniform_and_independent(texts: Texts) -> None:
    config = ManoConfig(modulus=5)
    observed = Counter(tuple(words[1:4]) for words in texts(config, 1, 8192))
    assert chi_square(observed, uniform(product("+-*", "01234", "01234"))) > CHANCE


@both
def test_sizes_of_training_rows_are_uniform(texts: Texts) -> None:
    observed = Counter(map(size, texts(ManoConfig(), None, 8192)))
    assert chi_square(observed, uniform(range(3, 17))) > CHANCE


def height(words: list[str]) -> int:
    """Return the most operators that are open at once."""
    missing: list[int] = []
    most = 0
    for word in words:
        if word in "+-*":
            missing.append(2)
            most = max(most, len(missing))
            continue
        while missing:
            missing[-1] -= 1
            if missing[-1]:
                break
            missing.pop()
    return most


@both
def test_mean_height_of_sixteen_operators(texts: Texts) -> None:
    heights = np.array([height(words[1:-3]) for words in texts(ManoConfig(), 16, 4096)])
    assert abs(heights.mean() - 7.04) < 4 * heights.std() / np.sqrt(len(heights)) + 0.005
    assert heights.min() >= 5  # 16 operators do not fit into fewer levels
    assert heights.max() <= 16


def test_meta_holds_the_height() -> None:
    task = Mano()
    rows = task.rows(seed=0, stream="eval", start=0, count=50)
    for i in range(50):
        words = task.vocab.decode(rows.ids(i)).split()
        assert task.instance(rows, i).meta == {"height": height(words[1:-3])}


def test_length_is_twice_the_knob_plus_five() -> None:
    rows = Mano().rows(seed=0, stream="train", start=0, count=4096)
    assert (rows.lengths == 2 * rows.knob + 5).all()
    assert rows.lengths.max() == rows.input_ids.shape[1] == 37
    assert Mano().rows(seed=0, stream="eval", start=0, count=3, knob=29).lengths.tolist() == [63] * 3


def test_padding_is_zero_and_unlabelled() -> None:
    rows = Mano().rows(seed=0, stream="train", start=0, count=4096)
    beyond = np.arange(rows.input_ids.shape[1]) >= rows.lengths[:, None]
    assert (rows.input_ids[beyond] == 0).all()
    assert (rows.input_ids[~beyond] > 0).all()
    assert ((rows.labels != -100).sum(axis=1) == 1).all()


@pytest.mark.parametrize("knob", [1, 2, 7, 24, 200])
def test_the_knob_is_the_number_of_operators(knob: int) -> None:
    assert {size(words) for words in vectorised_texts(ManoConfig(), knob, 20)} == {knob}
    assert {size(words) for words in plain_texts(ManoConfig(), knob, 20)} == {knob}


@pytest.mark.parametrize(("value", "split"), [(3, "seen"), (16, "seen"), (2, "extrapolation"), (17, "extrapolation")])
def test_splits_of_the_knob(value: int, split: str) -> None:
    assert Mano().knob.split(value) == split


def test_sizes_bound_the_operators_of_training_rows() -> None:
    config = ManoConfig(min_size=5, max_size=8)
    for texts in (vectorised_texts, plain_texts):
        assert {size(words) for words in texts(config, None, 200)} == {5, 6, 7, 8}
    assert Mano(config).knob.seen == (5, 6, 7, 8)


def test_modulus_bounds_values_and_names_them() -> None:
    config = ManoConfig(modulus=7)
    assert Mano(config).vocab.tokens[-7:] == tuple("0123456")
    for texts in (vectorised_texts, plain_texts):
        rows = texts(config, None, 500)
        assert {word for words in rows for word in words if word.isdigit()} == set("0123456")
        assert {words[-2] for words in rows} == set("0123456")
    assert Mano(config).instance(Mano(config).read("* 3 5"), 0).picture == "3 * 5 = 1 (mod 7)"


def test_operators_are_the_only_ones_drawn() -> None:
    for texts in (vectorised_texts, plain_texts):
        rows = texts(ManoConfig(operators=("*", "+")), None, 200)
        assert {word for words in rows for word in words if word in "+-*"} == {"*", "+"}
    with pytest.raises(UserError, match="unknown token '-'"):
        Mano(ManoConfig(operators=("*", "+"))).read("- 1 2")


def test_length_tokens_write_the_size_and_keep_the_expressions() -> None:
    with_lengths = vectorised_texts(ManoConfig(length_tokens=True), None, 300)
    for words, without in zip(with_lengths, vectorised_texts(ManoConfig(), None, 300), strict=True):
        number = f"{size(words):02d}"
        assert words[1] == f"<len-{number}>"
        assert words[-3] == f"<ans-{number}>"
        assert [*words[:1], *words[2:-3], "<ans>", *words[-2:]] == without
    rows = Mano(ManoConfig(length_tokens=True)).rows(seed=0, stream="train", start=0, count=100)
    assert (rows.lengths == 2 * rows.knob + 6).all()


def test_length_tokens_exist_for_training_sizes_only() -> None:
    task = Mano(ManoConfig(length_tokens=True, max_size=8))
    assert (task.knob.minimum, task.knob.maximum) == (3, 8)
    with pytest.raises(UserError, match="L = 9 is out of range: it goes from 3 to 8"):
        task.rows(seed=0, stream="eval", start=0, count=1, knob=9)


def test_synonyms_write_twins_and_keep_the_expressions() -> None:
    with_twins = vectorised_texts(ManoConfig(synonyms=True), None, 2000)
    for words, without in zip(with_twins, vectorised_texts(ManoConfig(), None, 2000), strict=True):
        assert [word.rstrip("'") for word in words] == without
    for token in ("<bos>", "<ans>", "+", "-", "*"):
        found = Counter(word for words in with_twins for word in words if word.rstrip("'") == token)
        assert set(found) == {token, f"{token}'"}
        assert abs(found[token] / found.total() - 0.5) < 2 / np.sqrt(found.total())  # 4 standard errors
    assert not any(word[0].isdigit() and word.endswith("'") for words in with_twins for word in words)


def test_twins_are_drawn_at_every_occurrence() -> None:
    first_two = Counter(
        tuple(word.endswith("'") for word in words if word.rstrip("'") in "+-*")[:2]
        for words in vectorised_texts(ManoConfig(synonyms=True), None, 4096)
    )
    assert chi_square(first_two, uniform(product([False, True], repeat=2))) > CHANCE


def test_both_serialisations_together() -> None:
    task = Mano(ManoConfig(length_tokens=True, synonyms=True))
    rows = task.rows(seed=1, stream="train", start=0, count=200)
    without = vectorised_texts(ManoConfig(length_tokens=True), None, 200)
    for i in range(200):
        words = [word.rstrip("'") for word in task.vocab.decode(rows.ids(i)).split()]
        assert words == without[i]


def test_the_plain_generator_refuses_what_it_does_not_write() -> None:
    for config in (ManoConfig(length_tokens=True), ManoConfig(synonyms=True)):
        with pytest.raises(UserError, match="leave both off"):
            plain.generate(random.Random(0), config)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"modulus": 1}, "modulus must be 2 to 1000, not 1"),
        ({"modulus": 100_003}, "modulus must be 2 to 1000, not 100003"),
        ({"operators": ()}, "distinct and among"),
        ({"operators": ("+", "+")}, "distinct and among"),
        ({"operators": ("+", "/")}, "distinct and among"),
        ({"min_size": 0}, "1 <= min_size"),
        ({"min_size": 9, "max_size": 8}, "min_size <= max_size"),
        ({"max_size": 201}, "max_size <= 200"),
    ],
)
def test_contradictions_are_refused(options: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        ManoConfig(**options)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("", "ends too early"),
        ("5", "L = 0 is out of range"),
        ("+ 5", "ends too early"),
        ("+ 5 3 4", "is complete before '4'"),
        ("+ 5 <ans> 3", "'<ans>' cannot stand inside"),
        ("+ 5 <pad>", "'<pad>' cannot stand inside"),
        ("+ 5 23", "unknown token '23'"),
        ("/ 5 3", "unknown token '/'"),
        ("+ " * 5000 + "1 " * 5001, "L = 5000 is out of range"),
    ],
)
def test_what_is_no_expression_is_refused(question: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Mano().read(question)


def test_the_longest_expression_is_read() -> None:
    assert Mano().read("+ " * 200 + "1 " * 201).answer(0) == [Mano().vocab.id(str(201 % 23))]


@pytest.mark.parametrize("question", ["+ 5 3", "<bos> + 5 3", "+ 5 3 <ans>", "<bos> + 5 3 <ans>", " +  5 3 "])
def test_marks_around_an_expression_may_be_left_out(question: str) -> None:
    assert Mano().vocab.decode(Mano().read(question).ids(0)) == "<bos> + 5 3 <ans> 8 <eos>"
