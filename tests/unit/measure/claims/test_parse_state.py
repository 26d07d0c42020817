"""The verdicts on depth that is spent while the question is read."""

import dataclasses

import polars as pl
import pytest
from tests.unit.measure.parse_state_support import Questions, follow_nothing, follow_position, planted_table

from anira.measure.claims.parse_state import HELD, judge_reading
from anira.measure.tidy import find


def seeds(tmp_path, plan, count=3, need=0.5):
    plans = [dataclasses.replace(plan, seed=seed, draw=seed) for seed in range(count)]
    return pl.concat([planted_table(tmp_path / f"{one.variant}{one.seed}", one, need=need) for one in plans])


def words(table):
    return [claim.verdict.word for claim in judge_reading(table)]


@pytest.fixture(scope="module")
def lawful(tmp_path_factory):
    """Three seeds of a run that follows the law."""
    return seeds(tmp_path_factory.mktemp("lawful"), Questions(n=150, expected=False))


def test_a_planted_law_is_supported(lawful):
    claims = judge_reading(lawful)
    assert words(lawful) == ["supported"] * 4
    row = find(lawful.filter(seed=1), "completed_slope", subset="plain")
    claim = claims[2]
    assert claim.seeds == (0, 1, 2)
    assert claim.estimates[1].value == row["value"] - row["null_high"]
    assert words(lawful.filter(pl.col("seed") < 2)) == ["inconclusive"] * 4


def test_counting_positions_supports_the_plain_claims_only(tmp_path):
    found = words(seeds(tmp_path, Questions(level=follow_position, n=100)))
    assert found[::2] == ["supported"] * 2
    assert "supported" not in found[1::2]


@pytest.mark.parametrize(
    ("plan", "need", "reason"),
    [
        (Questions(accuracy=0.15), 0.5, "accuracy is not above the majority baseline"),
        (Questions(level=follow_nothing, noise=0.0, own=0.0), 0.5, "the depth is constant"),
        (Questions(), 0.05, "depth is not needed: depth 1 loses 5 points at the hardest knob"),
    ],
)
def test_runs_that_cannot_be_judged(tmp_path, plan, need, reason):
    claims = judge_reading(seeds(tmp_path, plan, count=1, need=need))
    assert [claim.verdict.word for claim in claims] == ["not testable"] * 4
    assert claims[0].verdict.reason == reason


def fall_in_deep_questions(tokens):
    """Return depths that fall with s_t inside each question, long questions having more depth everywhere."""
    return 1 + 1.0 * tokens["knob"].to_numpy() - 0.2 * tokens["probe_completed_size"].to_numpy()


def test_what_differences_between_questions_make_does_not_count(tmp_path):
    """Large s_t only occur in long questions, so the slope is positive although depth falls in each of them."""
    found = seeds(tmp_path, Questions(level=fall_in_deep_questions, noise=0.2, own=0.0))
    rows = found.filter(quantity="completed_slope", subset="plain")
    assert (rows["low"] > 0).all()
    assert (rows["null_low"] > rows["high"]).all()
    claim = judge_reading(found)[list(HELD).index(("completed_slope", "plain"))]
    assert claim.verdict.word == "contradicted"


def test_what_shuffled_depths_give_too_is_no_evidence(lawful):
    wide = lawful.with_columns(
        pl.when(subset="plain").then(-9.0).otherwise("null_low").alias("null_low"),
        pl.when(subset="plain").then(9.0).otherwise("null_high").alias("null_high"),
    )
    assert words(wide) == ["contradicted", "supported"] * 2, "nothing at all is less than the smallest effect"


def test_variants_are_judged_apart(lawful, tmp_path):
    both = pl.concat([lawful, seeds(tmp_path, Questions(variant="anira-o", expected=False), count=1)])
    assert words(both) == ["supported"] * 4 + ["inconclusive"] * 4
    assert {claim.experiment for claim in judge_reading(both)} == {"mano anira-e", "mano anira-o"}
