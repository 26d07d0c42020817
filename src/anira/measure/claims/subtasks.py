"""The claim that accuracy drops at unseen sizes, subtask by subtask: their sizes do not compare."""

import polars as pl

from anira.measure.claims.alignment import NOT_LEARNED, estimate, learned, settings
from anira.measure.claims.knob import Claim, make_claim
from anira.measure.claims.paper import PAPER_CLAIMS
from anira.measure.claims.verdict import Evidence
from anira.measure.sizes import UNSEEN
from anira.measure.tidy import find


def judge_drops(table: pl.DataFrame) -> list[Claim]:
    """Return for each setting whether accuracy is lower between the seen sizes, and beyond them, over its seeds."""
    smallest = PAPER_CLAIMS["no-generalisation"].smallest
    claims = []
    for setting, runs in settings(table):
        for split, where in UNSEEN.items():
            text = f"Accuracy at seen sizes less accuracy {where}."
            evidence = [(one["run_id"][0], _drop(one, split)) for one in runs]
            claims.append(make_claim(text, setting, evidence, smallest=smallest))
    return claims


def _drop(run: pl.DataFrame, split: str) -> Evidence:
    row = find(run, "drop_unseen", split=split)
    return Evidence(run["seed"][0], estimate(row), "" if learned(run) else NOT_LEARNED)
