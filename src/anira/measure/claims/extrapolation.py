"""Rules for claims about knobs beyond training: accuracy drops, and online halting keeps more of it."""

from functools import partial

import polars as pl

from anira.measure.claims.alignment import (
    EQUAL_ACCURACY,
    NOT_LEARNED,
    judge_each,
    judge_pair,
    learned,
)
from anira.measure.claims.verdict import Claim, Evidence
from anira.measure.extrapolation import BEYOND
from anira.measure.quantities import quantity
from anira.measure.sizes import UNSEEN
from anira.measure.tidy import estimate, find

_KEY = "no-generalisation"


def judge_generalisation(table: pl.DataFrame) -> list[Claim]:
    """Return for each setting whether accuracy drops beyond training, over its seeds."""
    return judge_each(table, _KEY, quantity("drop_beyond").sentence, _drop_beyond)


def judge_drops(table: pl.DataFrame) -> list[Claim]:
    """Return for each setting whether accuracy is lower between the seen sizes, and beyond them, over its seeds."""
    by_split = [
        judge_each(table, _KEY, f"Accuracy at seen sizes minus accuracy {where}.", partial(_drop_unseen, split=split))
        for split, where in UNSEEN.items()
    ]
    return [claim for own in zip(*by_split, strict=True) for claim in own]


def judge_graceful(table: pl.DataFrame, first: str, others: tuple[str, ...]) -> list[Claim]:
    """Return for each other variant whether the first is right more often beyond training, seed by seed."""
    claims = []
    for other in others:
        pairs = table.filter(variant=first, quantity="accuracy_above", subset=other)
        rows = table.filter(pl.col("seed").is_in(pairs["seed"].to_list()))
        text = f"Accuracy of {first} minus that of {other} on the same instances beyond training."
        setting = f"{rows['task'][0]} {first} against {other}" if len(rows) else ""
        claims += judge_pair(rows, "o-degrades-gracefully", text, setting, (first, other), _graceful)
    return claims


def _drop_beyond(run: pl.DataFrame) -> Evidence:
    drop = find(run, "drop_beyond")
    limit = drop["knob"]
    why = "" if limit is None or learned(run, knob=limit) else f"{NOT_LEARNED} at the largest seen knob"
    return Evidence(run["seed"][0], estimate(drop), why)


def _drop_unseen(run: pl.DataFrame, split: str) -> Evidence:
    row = find(run, "drop_unseen", split=split)
    return Evidence(run["seed"][0], estimate(row), "" if learned(run) else NOT_LEARNED)


def _graceful(one: pl.DataFrame, two: pl.DataFrame) -> Evidence:
    other = two["variant"][0]
    gains = {split: find(one, "accuracy_above", subset=other, split=split) for split in ("seen", "extrapolation")}
    why = _unequal(one, two, gains["seen"]["value"]) or _guessing(one, two)
    return Evidence(one["seed"][0], estimate(gains["extrapolation"]), why)


def _unequal(one: pl.DataFrame, two: pl.DataFrame, apart: float | None) -> str:
    """Return why two runs are not as good as each other within training, or an empty text."""
    if not (learned(one) and learned(two)):
        return f"at seen knobs {NOT_LEARNED}"
    if apart is not None and abs(apart) >= EQUAL_ACCURACY:
        return f"at seen knobs accuracies are 2 points or more apart: {_values(one, two)}"
    return ""


def _guessing(one: pl.DataFrame, two: pl.DataFrame) -> str:
    if any(learned(run, subset=BEYOND) for run in (one, two)):
        return ""
    majority = find(one, "majority", subset=BEYOND)["value"]
    against = "" if majority is None else f": {_values(one, two, BEYOND)}, against {majority:.3f}"
    return f"beyond training neither is above the majority baseline{against}"


def _values(one: pl.DataFrame, two: pl.DataFrame, subset: str = "all") -> str:
    return " and ".join(f"{find(run, 'accuracy', subset=subset)['value']:.3f}" for run in (one, two))
