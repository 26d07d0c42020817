"""The verdict on LANO: only what untrained models do not have is evidence."""

from dataclasses import replace

import polars as pl
import pytest
from tests.unit.measure.lano_support import Strings, write_strings, write_untrained

from anira.measure.claims.lano import JUDGED, judge_work
from anira.measure.lano import lano_rows
from anira.measure.tidy import find, make_table


def measured(root, plan, untrained=(0.0,), seeds=(0, 1, 2)):
    rows = []
    for seed in seeds:
        folder = write_strings(root / f"s{seed}", replace(plan, seed=seed, draw=seed))
        depths = write_untrained(root / f"u{seed}.parquet", folder, untrained) if untrained else None
        rows += lano_rows(folder, folder, depths, floor=0.4, draws=50)
    return make_table(rows)


@pytest.fixture(scope="module")
def following(tmp_path_factory):
    """Three seeds that follow the parser, and untrained models that hardly do."""
    return measured(tmp_path_factory.mktemp("following"), Strings(n=40, effect=0.2), untrained=(-0.05, 0.05))


def test_more_than_untrained_models_have_is_evidence(following):
    (claim,) = judge_work(following)
    assert (claim.experiment, claim.verdict.word, claim.seeds) == ("lano anira-e", "supported", (0, 1, 2))
    row = find(following, "work_given_token", subset=JUDGED, seed=0)
    assert claim.estimates[0].value == row["value"] - row["null_high"]
    assert judge_work(following.filter(pl.col("seed") < 2))[0].verdict.reason == "2 seeds, and 3 are needed"


def test_inside_the_range_of_untrained_models_nothing_is_evidence(tmp_path):
    table = measured(tmp_path, Strings(n=40, effect=0.1), untrained=(-0.2, 0.2))
    assert (table.filter(quantity="work_given_token", subset=JUDGED)["low"] > 0).all()
    assert judge_work(table)[0].verdict.word == "contradicted"


def test_below_that_range_it_is_against_the_claim(tmp_path):
    (claim,) = judge_work(measured(tmp_path, Strings(n=40, effect=-0.3), untrained=(-0.05, 0.05)))
    assert claim.verdict.word == "contradicted"
    assert "against the claim" in claim.verdict.reason


def test_runs_that_cannot_be_judged(tmp_path, following):
    off = pl.when(pl.col("quantity") == "work_within").then(0.4).otherwise(pl.col("null_low"))
    expected = {
        "a null does not cover zero": following.with_columns(null_low=off),
        "only 50% of its strings are sentences of the language": measured(
            tmp_path / "poor", Strings(n=20, impossible=10), seeds=(0,)
        ),
        "no untrained model has a correlation to compare with": measured(
            tmp_path / "alone", Strings(n=20), untrained=(), seeds=(0,)
        ),
    }
    for reason, table in expected.items():
        verdict = judge_work(table)[0].verdict
        assert (verdict.word, verdict.reason) == ("not testable", reason)
