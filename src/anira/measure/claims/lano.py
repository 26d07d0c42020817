"""The claim that depth follows the parser's work on LANO, as a rule over rows of the tidy table."""

from typing import Final

import polars as pl

from anira.measure.claims.alignment import estimate, settings
from anira.measure.claims.knob import BROKEN_NULL, Claim, make_claim
from anira.measure.claims.paper import PAPER_CLAIMS
from anira.measure.claims.verdict import Evidence
from anira.measure.lano import subset
from anira.measure.statistics.estimates import beyond
from anira.measure.tidy import find

CLAIM: Final = (
    "How far the rank correlation of expected depth with the parser's multiplications, given the last token, lies "
    "outside the range of untrained models."
)
JUDGED: Final = subset("possible", "predicts", "ops_mul")
SENTENCES: Final = 0.5
"""A run of which no larger share of the strings are sentences has not learned the language."""
NOT_COMPARED: Final = "no untrained model has a correlation to compare with"


def judge_work(table: pl.DataFrame) -> list[Claim]:
    """Return for each setting whether depth follows the parser's work, over its seeds."""
    smallest = PAPER_CLAIMS["follows-complexity"].smallest
    return [
        make_claim(CLAIM, setting, [(one["run_id"][0], _evidence(one)) for one in runs], smallest=smallest)
        for setting, runs in settings(table)
    ]


def _evidence(run: pl.DataFrame) -> Evidence:
    row = find(run, "work_given_token", subset=JUDGED)
    if row["null_low"] is None:
        return Evidence(row["seed"], estimate(row), obstacle(run) or NOT_COMPARED)
    return Evidence(row["seed"], beyond(estimate(row), row["null_low"], row["null_high"]), obstacle(run))


def obstacle(run: pl.DataFrame) -> str:
    """Return why a run cannot be judged, or an empty text."""
    written = find(run, "sentences")["value"]
    if written <= SENTENCES:
        return f"only {written:.0%} of its strings are sentences of the language"
    nulls = run.filter(quantity="work_within").select("null_low", "null_high").drop_nulls()
    return "" if ((nulls["null_low"] <= 0) & (nulls["null_high"] >= 0)).all() else BROKEN_NULL
