"""Structure in one variant, state in the other: the verdict over seeds, and who is left out."""

import pytest

from anira.measure.claims.structure import NOISE, judge_structure
from anira.measure.statistics.estimates import Estimate
from anira.measure.statistics.nulls import Null
from anira.measure.tidy import Labels, make_row, make_table

FACTS = {"accuracy": 0.9, "majority": 0.1, "need": 0.5, "slope": 0.5}


def run(variant, seed, *, gap=None, added=0.05, **facts):
    """Return the rows that the verdict reads."""
    labels = Labels(
        run_id=f"{variant}-s{seed}",
        task="brevo",
        subtask="",
        variant=variant,
        policy=variant,
        seed=seed,
        step=1,
        select="",
        threshold=None,
        decode="parallel",
    )
    null = Null(0.0, -0.3, 0.3)
    noise = Null(0.005, 0.0, 0.01)
    for name, value in {**FACTS, **facts}.items():
        yield make_row(labels, name, Estimate(value, value, value), n=1)
    for group in ("structure", "state"):
        yield make_row(labels, "group_r2", Estimate(added), n=1, subset=group, null=noise)
    if gap is not None:
        yield make_row(labels, "state_share_gap", Estimate(gap), n=1, subset="within", null=null)


def verdict(gaps, **online):
    rows = [row for seed in range(len(gaps)) for row in run("anira-e", seed)]
    rows += [row for seed, gap in enumerate(gaps) for row in run("anira-o", seed, gap=gap, **online)]
    (claim,) = judge_structure(make_table(rows), "anira-e", "anira-o")
    return claim


def test_seeds_are_the_unit():
    claim = verdict([0.4, 0.5, 0.45])
    assert (claim.verdict.word, claim.seeds) == ("supported", (0, 1, 2))
    assert claim.runs[1] == "anira-e-s1 and anira-o-s1"
    assert verdict([0.4, 0.5]).verdict.word == "inconclusive"
    assert verdict([0.4, -0.5, 0.45]).verdict.word == "inconclusive"
    assert verdict([0.02, 0.03, 0.02]).verdict.word == "contradicted", "less than ten points"


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"accuracy": 0.05}, "anira-o: accuracy is not above the majority baseline"),
        ({"need": 0.02}, "anira-o: depth is not needed: depth 1 loses 2 points at the hardest knob"),
        ({"added": 0.01}, f"anira-o: {NOISE}"),
    ],
)
def test_runs_that_cannot_be_judged(facts, reason):
    claim = verdict([0.4, 0.5, 0.45], **facts)
    assert (claim.verdict.word, claim.verdict.reason) == ("not testable", reason)


def test_without_a_pair_there_is_no_claim():
    assert judge_structure(make_table(run("anira-e", 0)), "anira-e", "anira-o") == []
