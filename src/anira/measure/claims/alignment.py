"""Claims about depth and the knob as rules over rows of the tidy table: need first, then the slope over seeds."""

from collections.abc import Iterator
from typing import Any, Final

import polars as pl

from anira.measure import NEED
from anira.measure.claims.knob import BROKEN_NULL, Claim, make_claim
from anira.measure.claims.paper import PAPER_CLAIMS
from anira.measure.claims.verdict import Evidence
from anira.measure.quantities import quantity
from anira.measure.statistics.estimates import Estimate
from anira.measure.tidy import Row, find
from anira.records.overrides import is_override, override_words

NOT_LEARNED: Final = "accuracy is not above the majority baseline"
EQUAL_ACCURACY: Final = 0.02
"""Accuracies that differ by this or more are not the same task performance."""


def judge_follows(table: pl.DataFrame) -> list[Claim]:
    """Return for each setting whether depth follows the knob, over its seeds."""
    claims = []
    for setting, runs in settings(table):
        evidence = [(one["run_id"][0], _slope(one)) for one in runs]
        smallest = PAPER_CLAIMS["follows-complexity"].smallest
        claims.append(make_claim(quantity("slope").sentence, setting, evidence, smallest=smallest))
    return claims


def judge_less_depth(table: pl.DataFrame, first: str, second: str) -> list[Claim]:
    """Return for each task whether the second variant spends less depth than the first at equal accuracy.

    Both are read alike, by their expected depth: a mode and a median are different readings of one distribution.
    """
    claims = []
    for (task, subtask), rows in table.group_by("task", "subtask", maintain_order=True):
        by_seed = [{seed: part for (seed,), part in _of(rows, name).group_by("seed")} for name in (first, second)]
        seeds = sorted(by_seed[0].keys() & by_seed[1].keys())
        pairs = [(seed, by_seed[0][seed], by_seed[1][seed]) for seed in seeds]
        evidence = [(f"{a['run_id'][0]} and {b['run_id'][0]}", _less(seed, a, b)) for seed, a, b in pairs]
        if evidence:
            setting = " ".join(filter(None, (task, subtask, first, "against", second)))
            smallest = PAPER_CLAIMS["o-less-depth"].smallest
            text = f"Expected answer depth of {first} less that of {second}, iterations."
            claims.append(make_claim(text, setting, evidence, smallest=smallest))
    return claims


def settings(table: pl.DataFrame) -> Iterator[tuple[str, list[pl.DataFrame]]]:
    """Yield what differs in nothing but the seed: its name, and the rows of each run in the order of seeds."""
    for names, rows in table.group_by("task", "subtask", "variant", maintain_order=True):
        runs = [part for _, part in rows.sort("seed").group_by("seed", maintain_order=True)]
        yield " ".join(filter(None, names)), runs


def obstacle(run: pl.DataFrame) -> str:
    """Return why a run's depth cannot be judged against the knob, or an empty text."""
    select = run["select"][0]
    if select and is_override(select):
        return f"depths were {override_words(select)}, not chosen by the policy"
    if not learned(run):
        return NOT_LEARNED
    slope = find(run, "slope")
    if slope["null_low"] is not None and not slope["null_low"] <= 0 <= slope["null_high"]:
        return BROKEN_NULL
    need = find(run, "need")
    if need["value"] is None:
        return f"whether depth is needed is unknown: {need['reason'] or 'no forced depths were evaluated'}"
    if need["value"] < NEED:
        return f"depth is not needed: depth 1 loses {100 * need['value']:.0f} points at the hardest knob"
    return ""


def learned(run: pl.DataFrame) -> bool:
    """Say whether a run is surely better than always giving the commonest answer, at knobs of training."""
    return above_majority(run)


def above_majority(run: pl.DataFrame, *, knob: int | None = None, subset: str = "all") -> bool:
    """Say whether the whole interval of accuracy lies above the share of the commonest answer."""
    accuracy, majority = (find(run, name, knob=knob, subset=subset) for name in ("accuracy", "majority"))
    return accuracy["low"] is not None and bool(accuracy["low"] > majority["value"])


def estimate(row: Row) -> Estimate:
    """Return a row's estimate."""
    return Estimate(row["value"], row["low"], row["high"], row["reason"])


def _slope(run: pl.DataFrame) -> Evidence:
    return Evidence(run["seed"][0], estimate(find(run, "slope")), obstacle(run))


def _less(seed: Any, first: pl.DataFrame, second: pl.DataFrame) -> Evidence:
    depths = [find(run, "expected_depth", subset="answer") for run in (first, second)]
    accuracies = [find(run, "accuracy")["value"] for run in (first, second)]
    why = "" if learned(first) and learned(second) else NOT_LEARNED
    if not why and abs(accuracies[0] - accuracies[1]) >= EQUAL_ACCURACY:
        why = f"accuracies are 2 points or more apart: {accuracies[0]:.3f} and {accuracies[1]:.3f}"
    if None in (depths[0]["value"], depths[1]["value"]):
        return Evidence(seed, Estimate(None, reason="a policy has no distribution over depths"), why)
    return Evidence(seed, Estimate(depths[0]["value"] - depths[1]["value"]), why)


def _of(rows: pl.DataFrame, variant: str) -> pl.DataFrame:
    return rows.filter(variant=variant)
