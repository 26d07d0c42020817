import polars as pl
import pytest
from statsmodels.stats.proportion import proportion_confint

from anira.measure.accuracy import accuracy_by_knob, accuracy_overall


def instances(knob, answers, correct, *, split="seen", lenient=None, seen=None):
    return pl.DataFrame(
        {
            "knob": knob,
            "split": split,
            "answer": list(answers),
            "correct": correct,
            "lenient_correct": lenient or correct,
            "seen_in_training": pl.Series(seen or [None] * len(correct), dtype=pl.Boolean),
        }
    )


EASY = instances(1, "aaabbc", [True] * 6)
HARD = instances(9, "abcdabcdee", [True] + [False] * 9, split="extrapolation", lenient=[True] * 3 + [False] * 7)


def test_shares_and_intervals_by_knob():
    easy, hard = accuracy_by_knob(pl.concat([EASY, HARD]))
    assert (easy.knob, easy.split, easy.instances, easy.exact.value) == (1, "seen", 6, 1.0)
    assert (hard.knob, hard.split, hard.instances, hard.exact.value) == (9, "extrapolation", 10, 0.1)
    assert (hard.exact.low, hard.exact.high) == pytest.approx(proportion_confint(1, 10, method="wilson"))
    assert hard.lenient.value == 0.3


def test_the_majority_baseline_is_the_most_common_true_answer():
    easy, hard = accuracy_by_knob(pl.concat([EASY, HARD]))
    assert (easy.majority, hard.majority) == (0.5, 0.2)
    assert (easy.above_majority, hard.above_majority) == (True, False)


def test_over_all_knobs_the_baseline_knows_the_knob():
    overall = accuracy_overall(pl.concat([EASY, HARD]))
    assert overall.knob is None
    assert overall.exact.value == 7 / 16
    assert overall.majority == (3 + 2) / 16


def test_seen_knobs_only():
    overall = accuracy_overall(pl.concat([EASY, HARD]), seen_only=True)
    assert (overall.instances, overall.exact.value, overall.majority) == (6, 1.0, 0.5)


def test_what_training_has_seen_is_a_share_where_it_was_looked_up():
    known = instances(1, "ab", [True, True], seen=[True, False])
    assert accuracy_by_knob(known)[0].seen_in_training == 0.5
    assert accuracy_by_knob(EASY)[0].seen_in_training is None
