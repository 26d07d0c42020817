"""The verdicts on depth that is spent while the question is read."""

import dataclasses

import pytest
from tests.unit.measure.parse_state_support import Questions, follow_nothing, follow_position, write_questions

from anira.measure.claims.parse_state import judge_reading
from anira.measure.mano.parse_state import parse_state_figures
from anira.measure.statistics.nulls import Null


def seeds(tmp_path, plan, count=3):
    plans = [dataclasses.replace(plan, seed=seed, draw=seed) for seed in range(count)]
    return [parse_state_figures(write_questions(tmp_path / str(one.seed), one), draws=2) for one in plans]


def words(claims):
    return [claim.verdict.word for claim in claims]


@pytest.fixture(scope="module")
def lawful(tmp_path_factory):
    """Three seeds of a run that follows the law."""
    return seeds(tmp_path_factory.mktemp("lawful"), Questions(n=150, expected=False))


def test_a_planted_law_is_supported(lawful):
    claims = judge_reading(lawful)
    assert words(claims) == ["supported"] * 4
    assert [claim.text.partition(" (beyond")[0].partition(", at ")[2] for claim in claims] == [
        "",
        "equal position and d_t",
        "equal d_t",
        "equal position and d_t",
    ]
    assert claims[0].seeds == (0, 1, 2)
    row = lawful[1].contrast("exit_depth", "completed")
    assert claims[2].estimates[1].value == row.plain.value - row.null_plain.high
    assert words(judge_reading(lawful[:2])) == ["inconclusive"] * 4


def test_counting_positions_supports_the_plain_claims_only(tmp_path):
    claims = judge_reading(seeds(tmp_path, Questions(level=follow_position, n=100)))
    plain, matched = words(claims)[::2], words(claims)[1::2]
    assert plain == ["supported"] * 2
    assert "supported" not in matched


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (Questions(accuracy=0.15), "accuracy is not above the majority baseline"),
        (Questions(override="permuted"), "depths were not chosen by the policy"),
        (Questions(level=follow_nothing, noise=0.0, own=0.0), "the depth is constant"),
    ],
)
def test_runs_that_cannot_speak(tmp_path, plan, reason):
    claims = judge_reading(seeds(tmp_path, plan))
    assert words(claims) == ["not testable"] * 4
    assert claims[0].verdict.reason == reason


def fall_in_deep_questions(tokens):
    """Return depths that fall with s_t inside each question, long questions having more depth everywhere."""
    return 1 + 1.0 * tokens["knob"].to_numpy() - 0.2 * tokens["probe_completed_size"].to_numpy()


def test_what_differences_between_questions_make_does_not_count(tmp_path):
    """Large s_t only occur in long questions, so the slope is positive although depth falls in each of them."""
    found = seeds(tmp_path, Questions(level=fall_in_deep_questions, noise=0.2, own=0.0))
    rows = [one.contrast("exit_depth", "completed") for one in found]
    assert all(row.plain.low > 0 and row.null_plain.low > row.plain.high for row in rows)
    assert judge_reading(found)[2].verdict.word == "contradicted"


def test_what_shuffled_depths_give_too_is_no_evidence(lawful):
    wide = Null(1.0, -9.0, 9.0, covers_zero=True)
    same = [
        dataclasses.replace(one, contrasts=tuple(dataclasses.replace(row, null_plain=wide) for row in one.contrasts))
        for one in lawful
    ]
    assert words(judge_reading(same)) == ["inconclusive", "supported"] * 2


def test_variants_are_judged_apart(lawful, tmp_path):
    claims = judge_reading([*lawful, *seeds(tmp_path, Questions(variant="anira-o"), count=1)])
    assert [claim.experiment.split(",")[0] for claim in claims] == ["mano anira-e"] * 4 + ["mano anira-o"] * 4
    assert words(claims) == ["supported"] * 4 + ["inconclusive"] * 4
