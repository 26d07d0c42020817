"""The claim that depth follows the parser's work on LANO, as a rule over rows of the tidy table."""

from typing import Final

import polars as pl

from anira.measure.claims.alignment import beyond_null, judge_each
from anira.measure.claims.verdict import BROKEN_NULL, Claim, Evidence
from anira.measure.lano import subset
from anira.measure.tidy import find

CLAIM: Final = (
    "How far the rank correlation of expected depth with the parser's multiplications, given the last token, lies "
    "outside the range of untrained models."
)
JUDGED: Final = subset("possible", "predicts", "ops_mul")
SENTENCES: Final = 0.5
"""A run has learned the language if more than this share of its strings are sentences."""
NOT_COMPARED: Final = "no untrained model has a correlation to compare with"


def judge_work(table: pl.DataFrame) -> list[Claim]:
    """Return for each setting whether depth follows the parser's work, over its seeds."""
    return judge_each(table, "follows-complexity", CLAIM, _evidence)


def _evidence(run: pl.DataFrame) -> Evidence:
    row = find(run, "work_given_token", subset=JUDGED)
    return Evidence(row["seed"], beyond_null(row), obstacle(run) or NOT_COMPARED * (row["null_low"] is None))


def obstacle(run: pl.DataFrame) -> str:
    """Return why a run cannot be judged, or an empty text."""
    written = find(run, "sentences")["value"]
    if written <= SENTENCES:
        return f"only {written:.0%} of its strings are sentences of the language"
    nulls = run.filter(quantity="work_within").select("null_low", "null_high").drop_nulls()
    return "" if ((nulls["null_low"] <= 0) & (nulls["null_high"] >= 0)).all() else BROKEN_NULL
