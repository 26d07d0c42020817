"""Worked LANO sentences: the parser's counts and probabilities at every token, and the rows made of them.

`data/lano_parser_features.json` holds six sentences of cfg3b, the first two with one token changed. It was made for
this project by a prototype that was checked against the literal recurrences and against the counting of the paper's
first author; no part of it is taken from elsewhere.
"""

import hashlib
import json
from pathlib import Path
from random import Random

import numpy as np
import pytest
from tests.lano_support import column, digits

from anira.tasks.lano import (
    CFG3B,
    Lano,
    LanoConfig,
    TokenFeatures,
    entropy_floor,
    length_distribution,
    string_probabilities,
    token_features,
)
from benchmarks.plain import lano as plain

WORKED = json.loads((Path(__file__).parent / "data" / "lano_parser_features.json").read_text())

# token: ops_add ops_mul active_gamma_slice active_beta_end, nonzero entries of the slice of delta, log2 P(prefix)
VALID = """
3:  41  40  0 1   0  -0.47644
1: 362 258  4 2 103  -1.41504
2: 422 358  6 3  63  -2.09311
1: 468 399  7 4  68  -3.67807
3: 397 336  6 1  60  -6
1: 415 311  4 3 103  -7
2: 458 394  6 5  63  -7
3: 594 513  9 3  80  -7.41504
2: 613 473  8 2 139  -9
1: 537 468  7 6  68 -10
2: 613 519 10 2  93 -10
3: 269 241  3 4  27 -10
"""
INVALID = """
1:  41  40  0 1   0
1: 151 123  2 1  27
2: 180 152  2 2  27
3: 224 196  3 3  27
3: 547 407  8 1 139
2: 402 298  4 3 103
1: 496 427  7 5  68
3: 628 534 10 1  93
"""
# What the published generator draws with Python's random.Random(seed).
SENTENCES = {
    7711: (
        "2131312312312132123321323211233132132123312321213121233213132321321233131221321123312312211231233221322112312332"
        "2132131212332123212131321233213232321313121232112332321213231321123323132321321313123132132321233212132313123211"
        "233123132132112332323132131221311232131231322131232131"
    ),
    1: (
        "1233122131213221313123221313231213212321312321312132123312312132112331231312213122131321232132112332213231323121"
        "213121233123213121313121233122112321323231213232131123321312321232132321123"
    ),
}
SHORTEST = (
    "3231213121323221313231213221313221313231213121323231213221313221313231213121323231213221313231213121323221313231213"
    "22131322131323121312132"
)


def table(text: str) -> list[list[float]]:
    return [[float(cell) for cell in line.replace(":", "").split()] for line in text.strip().splitlines()]


@pytest.mark.parametrize("text", [VALID, INVALID], ids=["valid", "invalid"])
def test_counts_of_the_worked_strings(text: str) -> None:
    rows = table(text)
    found = token_features(CFG3B, [int(row[0]) for row in rows])
    assert [list(features) for features in found] == [row[1:5] for row in rows]
    # One lexical rule matches each token; beyond it and the slice of delta, additions are multiplications.
    assert [features.ops_add - features.ops_mul for features in found] == [1 + row[5] for row in rows]


def test_probabilities_of_the_worked_strings() -> None:
    rows = table(VALID)
    found = string_probabilities(CFG3B, [int(row[0]) for row in rows])
    assert found.log_prefix / np.log(2) == pytest.approx([row[6] for row in rows], abs=6e-6)
    assert (found.is_sentence, found.num_possible, found.log_prob) == (False, 12, -np.inf)
    assert string_probabilities(CFG3B, [int(row[0]) for row in table(INVALID)]).num_possible == 1


@pytest.mark.parametrize("number", range(len(WORKED)))
def test_whole_sentences(number: int) -> None:
    worked = WORKED[number]
    found = token_features(CFG3B, worked["tokens"])
    for name in TokenFeatures._fields:
        assert column(found, name) == worked[name], name
    known = [value for value in worked["log2_prefix"] if value is not None]
    chances = string_probabilities(CFG3B, worked["tokens"])
    assert chances.log_prefix[: len(known)] / np.log(2) == pytest.approx(known, abs=1e-6)
    assert (chances.log_prefix[len(known) :] == -np.inf).all()
    assert chances.num_possible == len(known)
    assert chances.is_sentence == (number >= 2)
    assert np.isnan(chances.entropy).tolist() == [position > len(known) for position in range(len(worked["tokens"]))]


def test_sums_over_the_sentence_of_seed_3() -> None:
    sentence = plain.derive(Random(3), CFG3B)
    found = token_features(CFG3B, sentence)
    sums = [sum(column(found, name)) for name in TokenFeatures._fields]
    assert len(sentence) == 249
    assert sums == [143465, 122015, 1807, 831]
    assert sums[0] - sums[1] == 249 + 21201
    assert string_probabilities(CFG3B, sentence).log_prob == pytest.approx(-157 * np.log(2), rel=1e-12)


@pytest.mark.parametrize("seed", SENTENCES)
def test_sentences_of_the_published_generator(seed: int) -> None:
    sentence = digits(SENTENCES[seed])
    assert plain.derive(Random(seed), CFG3B) == sentence
    assert string_probabilities(CFG3B, sentence).is_sentence
    changed = [sentence[0] % 3 + 1, *sentence[1:]]
    for wrong in (changed, sentence[:-1]):
        assert not string_probabilities(CFG3B, wrong).is_sentence


def test_the_shortest_sentence() -> None:
    assert len(SHORTEST) == 138 == np.flatnonzero(length_distribution(CFG3B))[0]
    assert string_probabilities(CFG3B, digits(SHORTEST)).is_sentence


def test_lengths_and_floor_of_cfg3b() -> None:
    law = length_distribution(CFG3B)
    lengths = np.arange(len(law))
    mean = law @ lengths
    assert law.sum() == pytest.approx(1)
    assert (np.flatnonzero(law)[0], len(law) - 1) == (138, 432)
    assert (law[138:] > 0).all()
    assert mean == pytest.approx(275.625)
    assert np.sqrt(law @ (lengths - mean) ** 2) == pytest.approx(41.7, abs=0.05)
    assert np.searchsorted(law.cumsum(), [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99]).tolist() == [
        *(174, 198, 251, 277, 307, 341, 361)
    ]
    assert entropy_floor(CFG3B) == pytest.approx(169.25 * np.log(2) / 276.625)
    assert entropy_floor(CFG3B) == pytest.approx(0.4241, abs=5e-5)


LENGTHS = {7: (2, 2.5, 3), 8: (2, 2.5, 3), 9: (2, 2.5, 3), 10: (6, 7.5, 9), 11: (6, 7.5, 9), 12: (6, 7.5, 9)}
LENGTHS |= {13: (12, 15, 18), 14: (18, 22.5, 27), 15: (18, 22.5, 27), 16: (30, 48.75, 72), 18: (30, 48.75, 72)}
LENGTHS |= {17: (48, 60, 72), 19: (108, 157.5, 216), 20: (78, 133.125, 216), 21: (60, 127.5, 216)}


@pytest.mark.parametrize("start", LENGTHS)
def test_lengths_of_the_sub_languages(start: int) -> None:
    law = length_distribution(CFG3B.restricted(start))
    mean = law @ np.arange(len(law))
    assert (np.flatnonzero(law)[0], pytest.approx(mean), len(law) - 1) == LENGTHS[start]


def test_a_worked_row() -> None:
    task = Lano(LanoConfig(start_symbol=10))
    rows = task.read("3 1 2 1 3 2 <eos>")
    assert task.vocab.tokens == ("<pad>", "1", "2", "3", "<bos>", "<eos>")
    assert rows.ids(0) == [4, 3, 1, 2, 1, 3, 2, 5]
    assert rows.labels.tolist() == [[-100, 3, 1, 2, 1, 3, 2, 5]]
    instance = task.instance(rows, 0)
    assert instance.picture.splitlines() == [
        "10 -> 7 9 8  (1..6)",
        "7 -> 3 1  (1..2)",
        "9 -> 2 1  (3..4)",
        "8 -> 3 2  (5..6)",
    ]
    assert instance.meta == {"tokens": 6, "possible_tokens": 6, "sentences": 1, "grammatical_sentences": 1}
    probes = task.probes(rows, 0)
    nan = pytest.approx(np.nan, nan_ok=True)
    assert probes["ops_add"].tolist() == [nan, 13, 80, 67, 86, 76, 91, nan]
    assert probes["ops_mul"].tolist() == [nan, 12, 70, 62, 79, 70, 81, nan]
    assert probes["active_gamma_slice"].tolist() == [nan, 0, 4, 3, 4, 4, 4, nan]
    assert probes["active_beta_end"].tolist() == [nan, 1, 2, 3, 3, 1, 4, nan]
    # First come 3 1 or 1 2 3 of 7, or 3 2 1 or 2 1 of 9: a 3 in half of all cases, else 1 or 2.
    half = np.log(2)
    assert probes["next_entropy"].tolist() == pytest.approx(
        [np.nan, 1.5 * half, half, half, 0, 0, half, np.nan], nan_ok=True
    )
    assert string_probabilities(task.grammar(), [3, 1, 2, 1, 3, 2]).log_prob == pytest.approx(4 * np.log(1 / 2))


def test_rows_never_change() -> None:
    # These rows are what trained models saw. If a digest has to change, say so in CHANGELOG.md.
    digests = []
    for knob in (None, 6, 2):
        rows = Lano().rows(seed=0, stream="train", start=0, count=64, knob=knob)
        text = repr([(rows.ids(i), rows.answer(i), int(rows.knob[i])) for i in range(64)])
        digests.append(hashlib.sha256(text.encode()).hexdigest()[:16])
    assert digests == ["a5ad6f41166a8fb7", "86401358cbed69a5", "08c48713ec9d5eae"]
