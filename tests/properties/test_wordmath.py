"""Word problems that hypothesis draws: solved from their words alone, read back, and probed as defined."""

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from anira.config import UserError
from anira.tasks.wordmath import Wordmath, WordmathConfig
from benchmarks.plain import wordmath as plain

configs = st.builds(
    WordmathConfig,
    answer=st.sampled_from(["steps", "final"]),
    story=st.sampled_from(["events", "comparisons", "both"]),
    distractors=st.integers(0, 3),
    held_out_wording=st.booleans(),
    limit=st.sampled_from([10, 20, 33]),
)
knobs = st.one_of(st.none(), st.integers(1, 11))
# Each example makes a block of rows.
few = settings(deadline=None, max_examples=12)


@few
@given(st.integers(0, 2**32), st.integers(0, 10**9), configs, knobs)
def test_generated_rows_are_solved_from_their_words_alone(
    seed: int, start: int, config: WordmathConfig, knob: int | None
) -> None:
    task = Wordmath(config)
    rows = task.rows(seed=seed, stream="valid", start=start, count=4, knob=knob)
    for i in range(4):
        words = task.instance(rows, i).question.removesuffix(" <ans>").split()
        steps = plain.solve(words)
        assert plain.write(words, steps, config) == (rows.ids(i), rows.labels[i, : rows.lengths[i]].tolist())
        assert len(steps) == rows.knob[i] == (knob or rows.knob[i])
        back = task.read(" ".join(words))
        assert (back.ids(0), back.answer(0), back.knob[0]) == (rows.ids(i), rows.answer(i), rows.knob[i])


@settings(deadline=None)
@given(st.integers(), configs, knobs)
def test_rows_of_the_plain_generator_are_read_back(seed: int, config: WordmathConfig, knob: int | None) -> None:
    task = Wordmath(config)
    ids, labels = plain.generate(random.Random(seed), config, knob)
    question = [token for token, label in zip(ids, labels, strict=True) if label == -100]
    rows = task.read(task.vocab.decode(question))
    assert (rows.ids(0), rows.labels[0].tolist()) == (ids, labels)
    assert rows.knob[0] == (knob or rows.knob[0])


@few
@given(st.integers(0, 10**6), configs, knobs)
def test_probes_follow_their_definitions(start: int, config: WordmathConfig, knob: int | None) -> None:
    task = Wordmath(config)
    rows = task.rows(seed=0, stream="eval", start=start, count=1, knob=knob)
    probes, size, words = task.probes(rows, 0), int(rows.knob[0]), task.vocab.decode(rows.ids(0)).split()
    answer = slice(rows.answer_positions(0)[0], None)
    # Every operation is carried out once, whatever the form of the answer.
    assert probes["work"][answer].sum() == size
    # The opening is looked up once, and each clause once for each of its words in a step.
    found = len({*words[answer]} & {":"}) + 2 if config.answer == "steps" else 1
    assert probes["lookups"][answer].sum() == 1 + found * size
    left = probes["operations_left"][answer]
    assert (left[0], left[-1]) == (size, 0)
    assert (np.diff(left) <= 0).all()
    # A number or sign that is written follows from a clause, anything else from none.
    needed = probes["clause_needed"][answer]
    names = set(plain.NAMES)
    assert [not np.isnan(clause) for clause in needed] == [
        word.isdigit() or word in {"+", "-", "*", "/", *names} for word in words[answer]
    ]
    read = probes["clause_read"]
    assert set(read[~np.isnan(read)]) == set(range(size + 1))
    told = probes["operations_told"][1 : answer.start - 1]
    assert (told[-1], (np.diff(told) >= 0).all()) == (size, True)
    values = probes["value_read"]
    assert {words[place] for place in np.flatnonzero(~np.isnan(values))} == {"."}
    # The order of the sentences is that of the steps: then every value is known at once.
    results = [int(words[place - 1]) for place in range(answer.start, len(words)) if words[place] == "."]
    if config.answer == "steps" and (np.diff(read[~np.isnan(read)]) >= 0).all():
        assert values[~np.isnan(values)].tolist()[1:] == results


SENTENCES = [
    "Ana has 5 apples .",
    "Then she finds 3 apples .",
    "Ben owns 3 more than Ana .",
    "Then she loses half of them .",
    "9 of the apples are old .",
    "How many apples does Ana have ?",
    "How many apples does Ben have ?",
    "<ans>",
    "5 + 3",
]


@settings(deadline=None)
@given(st.lists(st.sampled_from(SENTENCES), max_size=6))
def test_any_other_text_is_an_error_of_the_user(text: list[str]) -> None:
    task = Wordmath()
    try:
        rows = task.read(" ".join(text))
    except UserError as error:
        assert "\n" not in str(error)
    else:
        question = " ".join(text).removesuffix(" <ans>")
        assert task.vocab.decode(rows.ids(0)).startswith(f"<bos> {question} <ans> ")
