"""The verdict on LANO: only what untrained models do not have is evidence."""

from dataclasses import replace

import pytest
from tests.unit.measure.lano_support import Strings, write_strings, write_untrained

from anira.measure.claims.lano import judge_lano
from anira.measure.lano import lano_figures
from anira.measure.statistics.nulls import Null


def figures(root, plan, untrained=(0.0,), seeds=(0, 1, 2)):
    found = []
    for seed in seeds:
        folder = write_strings(root / f"s{seed}", replace(plan, seed=seed, draw=seed))
        depths = write_untrained(root / f"u{seed}.parquet", folder, untrained) if untrained else None
        found.append(lano_figures(folder, folder, depths, draws=50))
    return found


@pytest.fixture(scope="module")
def following(tmp_path_factory):
    """Three seeds that follow the parser, and untrained models that hardly do."""
    return figures(tmp_path_factory.mktemp("following"), Strings(n=40, effect=0.2), untrained=(-0.05, 0.05))


def test_more_than_untrained_models_have_is_evidence(following):
    (claim,) = judge_lano(following[::-1])
    assert (claim.verdict.word, claim.seeds) == ("supported", (0, 1, 2))
    row = following[0].row("possible", "predicts", "ops_mul")
    assert claim.estimates[0].value == row.given_input.value - max(row.untrained.given_input)
    assert judge_lano(following[:2])[0].verdict.word == "inconclusive"


def test_inside_the_range_of_untrained_models_nothing_is_evidence(tmp_path):
    found = figures(tmp_path, Strings(n=40, effect=0.1), untrained=(-0.2, 0.2))
    rows = [one.row("possible", "predicts", "ops_mul") for one in found]
    assert all(row.given_input.low > 0 for row in rows)
    assert judge_lano(found)[0].verdict.word == "inconclusive"


def test_below_that_range_it_speaks_against_the_claim(tmp_path):
    assert judge_lano(figures(tmp_path, Strings(n=40, effect=-0.3), untrained=(-0.05, 0.05)))[0].verdict.word == (
        "contradicted"
    )


def test_runs_that_cannot_speak(tmp_path, following):
    off = Null(0.5, 0.4, 0.6, covers_zero=False)
    broken = [
        replace(one, correlations=tuple(replace(row, null_within=off) for row in one.correlations)) for one in following
    ]
    permuted = [replace(one, labels=replace(one.labels, override="permuted")) for one in following]
    poor = figures(tmp_path / "poor", Strings(n=20, impossible=10), seeds=(0,))
    alone = figures(tmp_path / "alone", Strings(n=20), untrained=(), seeds=(0,))
    expected = {
        "a null does not cover zero": broken,
        "depths were not chosen by the policy": permuted,
        "only 50% of its strings are sentences of the language": poor,
        "no untrained model has a correlation to compare with": alone,
    }
    for reason, runs in expected.items():
        verdict = judge_lano(runs)[0].verdict
        assert (verdict.word, verdict.reason) == ("not testable", reason)


def test_what_differs_in_more_than_the_seed_is_judged_apart(following):
    other = replace(following[2], labels=replace(following[2].labels, config={"steps": 9}))
    assert [claim.seeds for claim in judge_lano([*following[:2], other])] == [(0, 1), (2,)]
