"""Worked words: the table of S3, the text of rows in both forms, the products and every probe, worked out by hand."""

import hashlib

import numpy as np
import pytest

from anira.tasks.base import Rows
from anira.tasks.words import Words, WordsConfig, make_group
from benchmarks.plain import words as plain

# Elements 0 .. 5 are 012, 021, 102, 120, 201, 210. First left, then right: 021 sends 1 to 2 and 102 leaves it there.
TABLE = """\
    0 1 2 3 4 5
    1 0 3 2 5 4
    2 4 0 5 1 3
    3 5 1 4 0 2
    4 2 5 0 3 1
    5 3 4 1 2 0
"""
FINAL = WordsConfig(form="final")


def test_the_table_of_s3() -> None:
    assert make_group("S3").table.tolist() == [[int(word) for word in line.split()] for line in TABLE.splitlines()]


@pytest.mark.parametrize(
    ("group", "word", "products", "picture"),
    [
        ("S3", "1 2 4", "1 3 0", "021 102 201 = 012"),
        ("S3", "2 1", "2 4", "102 021 = 201"),
        ("S3", "5 5 1 3", "5 0 1 2", "210 210 021 120 = 102"),
        ("Z6", "1 2 4", "1 3 1", "1 + 2 + 4 = 1 (mod 6)"),
        ("A4", "3 4", "3 7", "1032 1203 = 2130"),  # 0 > 1 > 2, 1 > 0 > 1, 2 > 3 > 3, 3 > 2 > 0
        ("Z120", "60 61 7", "60 1 8", "60 + 61 + 7 = 8 (mod 120)"),
    ],
)
def test_text_and_products_of_a_worked_row(group: str, word: str, products: str, picture: str) -> None:
    *_, answer = products.split()
    dense, final = (Words(WordsConfig(group=group, form=form)) for form in ("dense", "final"))
    rows = dense.read(word)
    assert dense.vocab.decode(rows.ids(0)) == f"<bos> {word} <eos>"
    assert rows.labels[0].tolist() == [-100] * (len(word.split()) + 1) + [dense.vocab.id(answer)]
    rows = final.read(word)
    assert final.vocab.decode(rows.ids(0)) == f"<bos> {word} <ans> {answer} <eos>"
    assert (rows.answer(0), rows.answer_positions(0)) == ([final.vocab.id(answer)], [len(word.split()) + 2])
    for task, question in ((dense, word), (final, f"{word} <ans>")):
        instance = task.instance(task.read(word), 0)
        assert (instance.question, instance.answer) == (question, answer)
        assert instance.picture.splitlines() == [picture, f"products {products}"]
    assert plain.solve([int(letter) for letter in word.split()], plain.list_elements(group)) == [
        int(product) for product in products.split()
    ]


def test_a_dense_training_row_has_a_label_behind_every_letter() -> None:
    task = Words()
    rows = task.rows(seed=0, stream="train", start=0, count=2)
    assert [task.vocab.decode(rows.ids(i)) for i in range(2)] == ["<bos> 1 1 3 3 4 1 2 4 0 <eos>", "<bos> 1 2 <eos>"]
    # Behind <bos> nothing is asked; what stands behind the letter t is the product of the letters up to t.
    assert [task.vocab.decode(rows.answer(i)) for i in range(2)] == ["1 0 3 4 3 5 4 3 3", "1 3"]
    assert [rows.answer_positions(i) for i in range(2)] == [list(range(2, 11)), [2, 3]]
    assert rows.knob.tolist() == [9, 2]


@pytest.mark.parametrize("form", ["dense", "final"])
def test_probes_of_a_worked_word(form: str) -> None:
    task = Words(WordsConfig(form=form))
    rows = task.read("1 1 2 5 4")
    wanted = {
        "t": [1, 2, 3, 4, 5],
        "product": [1, 0, 2, 3, 0],
        "is_identity": [0, 1, 0, 0, 1],
        "subgroup_size": [2, 2, 6, 6, 6],  # 021 alone, and with 102 all of S3
        "abelian_image": [1, 0, 1, 0, 0],  # odd, even, odd, even, even
        "abelian_rest": [0, 0, 2, 1, 0],  # 201 then 021 is 102; 201 is the third of 012, 120, 201
    }
    probes = task.probes(rows, 0)
    assert list(probes) == list(wanted) == [probe.name for probe in task.probe_specs]
    assert {probe.anchor for probe in task.probe_specs} == {"input"}
    for name, values in probes.items():
        assert values[1:6].tolist() == wanted[name], name
        assert np.isnan(values[[0, *range(6, rows.lengths[0])]]).all(), name


def test_facts_of_an_instance() -> None:
    task = Words(WordsConfig(group="S4"))
    metas = [task.instance(task.read(word), 0).meta for word in ("0", "1 1", "7 16", "7 16 2", "1 9")]
    # 1032 and 2301 commute and generate four elements; 0213 with them gives the eight symmetries of a square.
    sizes, commuting = zip(*((meta["subgroup_size"], meta["commuting"]) for meta in metas), strict=True)
    assert (sizes, commuting) == ((1, 2, 4, 8, 24), (1, 1, 1, 0, 0))


def test_vocabulary_is_fixed_and_that_of_the_twin() -> None:
    assert Words().vocab.tokens == ("<pad>", "<bos>", "<eos>", "<ans>", "0", "1", "2", "3", "4", "5")
    assert Words(WordsConfig(group="Z6", letters="generators")).vocab.tokens == Words(FINAL).vocab.tokens
    assert len(Words(WordsConfig(group="A5")).vocab) == 64


def test_rows_never_change() -> None:
    # These rows are what models were trained on and judged by. If a digest has to change, say so in CHANGELOG.md.
    train = Words().rows(seed=0, stream="train", start=0, count=64)
    fixed = Words().rows(seed=0, stream="eval", start=0, count=64, knob=7)
    final = Words(WordsConfig(group="A5", form="final", letters="generators"))
    assert digest(train) == "f1210edf87ebe5da"
    assert digest(fixed) == "c07dec95dd3e2671"
    assert digest(final.rows(seed=0, stream="train", start=0, count=64)) == "3f7795f88ff6bde8"


def digest(rows: Rows) -> str:
    text = repr([(rows.ids(i), rows.answer(i), int(rows.knob[i])) for i in range(len(rows))])
    return hashlib.sha256(text.encode()).hexdigest()[:16]
