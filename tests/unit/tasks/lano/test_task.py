"""LANO as a task: packing, sub-languages, questions typed by hand, grades, options."""

import random

import numpy as np
import pytest
from tests.lano_support import language

from anira.config import UserError
from anira.tasks import BLOCK, Rows, make_task
from anira.tasks.lano import (
    CFG3B,
    Lano,
    LanoConfig,
    PrefixProbabilities,
    string_probabilities,
    token_features,
)
from benchmarks.plain import lano as plain

PAD, BOS, EOS, IGNORE = 0, 4, 5, -100
FULL, SMALL = Lano(), Lano(LanoConfig(start_symbol=10, packed_length=16))
SINGLE = Lano(LanoConfig(start_symbol=16, packed_length=0))


def fetch(task: Lano, count: int, *, start: int = 0, knob: int | None = None, stream: str = "train") -> Rows:
    return task.rows(seed=0, stream=stream, start=start, count=count, knob=knob)


def sentences(stream: list[int]) -> list[tuple[int, ...]]:
    """Return the whole sentences of a stream of tokens that begins with one."""
    out: list[tuple[int, ...]] = []
    begin = 0
    while EOS in stream[begin:]:
        assert stream[begin] == BOS
        end = stream.index(EOS, begin)
        out.append(tuple(stream[begin + 1 : end]))
        begin = end + 1
    assert stream[begin : begin + 1] in ([], [BOS])
    return out


@pytest.mark.parametrize("stream", ["train", "eval"])
def test_packed_rows_are_a_stream_of_sentences(stream: str) -> None:
    rows = fetch(SMALL, 400, stream=stream)
    assert rows.input_ids.shape == (400, 16)
    assert (rows.lengths == 16).all()
    found = sentences(rows.input_ids.ravel().tolist())
    assert len(found) > 600
    assert set(found) == set(language(CFG3B.restricted(10)))


def test_the_stream_goes_on_from_row_to_row_and_starts_anew_with_a_block() -> None:
    rows = fetch(FULL, BLOCK + 1)
    assert rows.input_ids[[0, BLOCK], 0].tolist() == [BOS, BOS]
    inside = rows.input_ids[1:BLOCK, 0] != BOS
    assert inside.mean() > 0.9
    for sentence in sentences(rows.input_ids[:12].ravel().tolist()):
        assert string_probabilities(CFG3B, sentence).is_sentence


def test_all_tokens_are_supervised_but_bos_and_the_first_of_a_row() -> None:
    for rows in (fetch(SMALL, 300), fetch(SMALL, 300, knob=2), fetch(SINGLE, 300)):
        ids, labels = rows.input_ids, rows.labels
        free = (ids == BOS) | (ids == PAD)
        free[:, 0] = True
        assert (labels[free] == IGNORE).all()
        assert (labels[~free] == ids[~free]).all()
        assert (ids[labels == EOS] == EOS).all()


@pytest.mark.parametrize(("task", "knob"), [(SMALL, 2), (SMALL, 1), (FULL, 6), (FULL, 2), (SINGLE, None)])
def test_other_rows_hold_one_sentence(task: Lano, knob: int | None) -> None:
    rows = fetch(task, 40, knob=knob)
    for i in range(40):
        ids = rows.ids(i)
        assert (ids[0], ids[-1]) == (BOS, EOS)
        assert not {BOS, EOS, PAD} & set(ids[1:-1])
        assert string_probabilities(task.grammar(knob), ids[1:-1]).is_sentence
    beyond = np.arange(rows.input_ids.shape[1]) >= rows.lengths[:, None]
    assert (rows.input_ids[beyond] == PAD).all()
    assert rows.input_ids.shape[1] == rows.lengths.max()


def test_a_row_is_the_same_however_it_is_reached() -> None:
    for knob in (None, 6):
        whole = fetch(Lano(), 12, start=BLOCK - 6, knob=knob)
        for i in range(12):
            alone = fetch(Lano(), 1, start=BLOCK - 6 + i, knob=knob)
            assert (alone.ids(0), alone.answer(0)) == (whole.ids(i), whole.answer(i))


def test_the_knob_is_the_height_of_the_start_symbol() -> None:
    assert (FULL.knob.seen, FULL.knob.minimum, FULL.knob.maximum) == ((6,), 1, 6)
    assert [FULL.grammar(knob).start for knob in range(1, 7)] == [7, 10, 13, 16, 19, 22]
    assert FULL.grammar() == CFG3B
    task = Lano(LanoConfig(start_symbol=21, packed_length=0))
    assert task.knob.seen == (5,)
    assert [task.grammar(knob).start for knob in range(1, 6)] == [7, 10, 13, 16, 21]
    assert fetch(task, 3).knob.tolist() == [5, 5, 5]
    assert fetch(task, 3, knob=2).knob.tolist() == [2, 2, 2]
    for knob in (0, 6):
        with pytest.raises(UserError, match=f"knob H = {knob} is out of range: it goes from 1 to 5"):
            fetch(task, 1, knob=knob)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start_symbol": 3}, "a start symbol must be one of 22, 19, .*, not 3"),
        ({"start_symbol": 23}, "a start symbol must be one of"),
        (
            {"packed_length": 433},
            r"must be 434 \(the longest sentence of 22 with its marks\) to 4096, or 0 .*, not 433",
        ),
        ({"packed_length": 4097}, "to 4096, or 0 for one sentence a row, not 4097"),
        ({"packed_length": -1}, "packed_length must be 434"),
        ({"start_symbol": 16, "packed_length": 73}, "packed_length must be 74"),
    ],
)
def test_contradictions_are_refused(options: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        LanoConfig(**options)


def test_the_shortest_packed_row_that_is_allowed() -> None:
    task = Lano(LanoConfig(start_symbol=16, packed_length=74))
    assert fetch(task, 5).input_ids.shape == (5, 74)


def check_probes(task: Lano, rows: Rows, i: int, where: list[int], tokens: list[int]) -> None:
    """Check that the probes of some positions are those of a string, and that there are no others."""
    probes = task.probes(rows, i)
    assert set(probes) == {probe.name for probe in task.probe_specs}
    grammar = task.grammar(int(rows.knob[i]))
    features, entropy = token_features(grammar, tokens), string_probabilities(grammar, tokens).entropy
    for name, values in probes.items():
        wanted = entropy.tolist() if name == "next_entropy" else [getattr(one, name) for one in features]
        assert values[where].tolist() == pytest.approx(wanted, nan_ok=True), name
        assert np.isnan(np.delete(values, where)).all(), name


def test_probes_of_one_sentence() -> None:
    assert {probe.anchor for probe in FULL.probe_specs} == {"target"}
    for task, knob in ((FULL, None), (FULL, 3), (SINGLE, None)):
        rows = fetch(task, 1, knob=knob or task.knob.maximum)
        words = rows.ids(0)[1:-1]
        check_probes(task, rows, 0, list(range(1, len(words) + 1)), words)


def test_probes_of_a_packed_row_start_with_its_first_whole_beginning() -> None:
    rows = SMALL.read("... 1 2 3 <eos> <bos> 3 1 2 1 ...")
    check_probes(SMALL, rows, 0, [5, 6, 7, 8], [3, 1, 2, 1])
    two = SMALL.probes(SMALL.read("3 1 2 1 3 2 <eos> <bos> 3 1 ..."), 0)
    assert two["ops_add"][[1, 2]].tolist() == two["ops_add"][[9, 10]].tolist()


def test_probes_of_a_string_that_is_no_sentence() -> None:
    # Counts go on after the impossible token, as in the published parser; the entropy does not.
    rows = SMALL.read("3 3 1 2 <eos>")
    check_probes(SMALL, rows, 0, [1, 2, 3, 4], [3, 3, 1, 2])
    assert np.isnan(SMALL.probes(rows, 0)["next_entropy"]).tolist() == [True, False, False, True, True, True]


def test_meta_and_picture_of_rows() -> None:
    def shown(text: str) -> tuple[list[int], str]:
        instance = SMALL.instance(SMALL.read(text), 0)
        assert list(instance.meta) == ["tokens", "possible_tokens", "sentences", "grammatical_sentences"]
        return list(instance.meta.values()), instance.picture

    sentence = "3 1 2 1 3 2"
    assert shown(f"{sentence} <eos>")[0] == [6, 6, 1, 1]
    assert shown(f"{sentence} 1 <eos>") == ([7, 6, 1, 0], "7 tokens, no sentence: token 7 is impossible")
    assert shown("3 1 2 <eos>") == ([3, 3, 1, 0], "3 tokens, no sentence: it is not complete")
    assert shown("3 1 2 ...") == ([3, 3, 0, 0], "the first 3 tokens of a sentence")
    meta, picture = shown(f"... 1 <eos> <bos> {sentence} <eos> <bos> 3 3 ...")
    assert meta == [8, 7, 1, 1]
    assert picture.splitlines() == [
        "1 token of a sentence that began before",
        "a sentence of 6 tokens",
        "2 tokens, no sentence: token 2 is impossible",
    ]


def test_a_beginning_is_continued_as_an_ideal_model_does() -> None:
    rows = FULL.read("3 1 2 1")
    ids = rows.ids(0)
    assert ids[:5] == [BOS, 3, 1, 2, 1]
    assert rows.answer_positions(0) == list(range(5, len(ids)))
    assert rows.answer(0) == ids[5:]
    chart = PrefixProbabilities(CFG3B)
    for position, token in enumerate(ids[1:-1], 1):
        if position > 4:
            assert chart.distribution[token - 1] == pytest.approx(chart.distribution.max())
        chart.append(token)
    assert chart.is_sentence
    assert ids[-1] == EOS
    instance = FULL.instance(rows, 0)
    assert (instance.question, instance.answer) == ("3 1 2 1", FULL.vocab.decode(ids[5:]))
    assert FULL.read(instance.question).ids(0) == ids


def test_of_equally_likely_tokens_the_smallest_is_taken() -> None:
    # 7 is 3 1 or 1 2 3, and 9 is 3 2 1 or 2 1: after a 3 that begins either, 1 and 2 are equally likely.
    assert SMALL.vocab.decode(SMALL.read("3").ids(0)).startswith("<bos> 3 1")


def test_what_cannot_begin_a_sentence_is_refused() -> None:
    with pytest.raises(UserError, match=r"no sentence of 10 begins like this: token 2 \(3\) is impossible"):
        SMALL.read("3 3 1")
    with pytest.raises(UserError, match="the sentence is empty"):
        SMALL.read("")


def test_grades() -> None:
    rows = SMALL.read("3 1 2 1 3 2 <eos>")
    own, other = [3, 1, 2, 1, 3, 2, EOS], [1, 2, 3, 3, 2, 1, 3, 1, 2, EOS]

    def grade(*ids: int) -> tuple[bool, bool]:
        given = SMALL.grade(rows, 0, np.array(ids))
        return given.exact, given.lenient

    assert grade(*own) == grade(*own, 1, 2) == (True, True)
    assert grade(*other) == (False, True)  # longer than the row's own sentence
    assert grade(*other[:-1]) == (False, False)  # it does not end
    assert grade(3, 1, EOS, *own) == (False, False)
    assert grade(EOS) == grade(PAD) == grade(BOS, *own) == (False, False)


def test_an_exact_string_that_is_no_sentence_is_not_leniently_right() -> None:
    rows = SMALL.read("3 3 <eos>")
    grade = SMALL.grade(rows, 0, [3, 3, EOS])
    assert (grade.exact, grade.lenient) == (True, False)


def test_the_beginning_that_was_given_counts_in_grades() -> None:
    rows = SMALL.read("3 1 2 1")
    assert SMALL.grade(rows, 0, [3, 2, EOS]).lenient
    assert SMALL.grade(rows, 0, [3, 1, 2, EOS]).lenient
    assert not SMALL.grade(rows, 0, [3, 1, 2, 1, 3, 2, EOS]).lenient


def test_the_plain_generator_writes_the_same_rows() -> None:
    config, rng = LanoConfig(start_symbol=10, packed_length=0), random.Random(0)
    task = Lano(config)
    for _ in range(20):
        ids, labels = plain.generate(rng, config)
        rows = task.read(task.vocab.decode(ids))
        assert (rows.ids(0), rows.labels[0].tolist()) == (ids, labels)


def test_the_registry_knows_it() -> None:
    assert isinstance(make_task("lano"), Lano)
    assert make_task("lano").config == LanoConfig(start_symbol=22, packed_length=512)
