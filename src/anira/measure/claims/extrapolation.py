"""Claims about knobs beyond training as rules over rows: accuracy drops there, and online halting keeps more of it."""

from typing import Any

import polars as pl

from anira.measure.claims.alignment import EQUAL_ACCURACY, NOT_LEARNED, above_majority, estimate, learned, settings
from anira.measure.claims.knob import Claim, make_claim
from anira.measure.claims.paper import PAPER_CLAIMS
from anira.measure.claims.verdict import Evidence
from anira.measure.extrapolation import BEYOND
from anira.measure.quantities import quantity
from anira.measure.tidy import find


def judge_generalisation(table: pl.DataFrame) -> list[Claim]:
    """Return for each setting whether accuracy drops beyond training, over its seeds."""
    smallest = PAPER_CLAIMS["no-generalisation"].smallest
    text = quantity("drop_beyond").sentence
    return [
        make_claim(text, setting, [(run["run_id"][0], _drop(run)) for run in runs], smallest=smallest)
        for setting, runs in settings(table)
    ]


def judge_graceful(table: pl.DataFrame, first: str, others: tuple[str, ...]) -> list[Claim]:
    """Return for each other variant whether the first is right more often beyond training, seed by seed."""
    smallest = PAPER_CLAIMS["o-degrades-gracefully"].smallest
    claims = []
    for other in others:
        pairs = table.filter(variant=first, quantity="accuracy_above", subset=other)
        seeds = pairs["seed"].unique().sort()
        evidence = [_graceful(seed, table.filter(seed=seed), first, other) for seed in seeds]
        if evidence:
            text = f"Accuracy of {first} less that of {other} on the same instances beyond training."
            claims.append(make_claim(text, f"{pairs['task'][0]} {first} against {other}", evidence, smallest=smallest))
    return claims


def _drop(run: pl.DataFrame) -> Evidence:
    drop = find(run, "drop_beyond")
    limit = drop["knob"]
    why = "" if limit is None or above_majority(run, knob=limit) else f"{NOT_LEARNED} at the largest seen knob"
    return Evidence(run["seed"][0], estimate(drop), why)


def _graceful(seed: Any, rows: pl.DataFrame, first: str, other: str) -> tuple[str, Evidence]:
    one, two = rows.filter(variant=first), rows.filter(variant=other)
    beyond = find(one, "accuracy_above", subset=other, split="extrapolation")
    why = _unequal(one, two, other) or _guessing(one, two)
    return f"{one['run_id'][0]} and {two['run_id'][0]}", Evidence(seed, estimate(beyond), why)


def _unequal(one: pl.DataFrame, two: pl.DataFrame, other: str) -> str:
    """Return why two runs are not as good as each other within training, or an empty text."""
    if not (learned(one) and learned(two)):
        return f"at seen knobs {NOT_LEARNED}"
    apart = find(one, "accuracy_above", subset=other, split="seen")["value"]
    if apart is not None and abs(apart) >= EQUAL_ACCURACY:
        return f"at seen knobs accuracies are 2 points or more apart: {_values(one, two)}"
    return ""


def _guessing(one: pl.DataFrame, two: pl.DataFrame) -> str:
    if any(above_majority(run, subset=BEYOND) for run in (one, two)):
        return ""
    majority = find(one, "majority", subset=BEYOND)["value"]
    against = "" if majority is None else f": {_values(one, two, BEYOND)}, against {majority:.3f}"
    return f"beyond training neither is above the majority baseline{against}"


def _values(one: pl.DataFrame, two: pl.DataFrame, subset: str = "all") -> str:
    return " and ".join(f"{find(run, 'accuracy', subset=subset)['value']:.3f}" for run in (one, two))
