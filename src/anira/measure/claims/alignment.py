"""Claims about depth and the knob as rules over rows of the tidy table: need first, then the slope over seeds."""

from collections.abc import Callable, Iterator
from typing import Final

import polars as pl

from anira.measure import NEED
from anira.measure.claims.paper import PAPER_CLAIMS
from anira.measure.claims.verdict import BROKEN_NULL, Claim, Evidence, make_claim
from anira.measure.quantities import quantity
from anira.measure.statistics.estimates import Estimate, beyond
from anira.measure.tidy import Row, estimate, find
from anira.records.overrides import is_override, override_words

NOT_LEARNED: Final = "accuracy is not above the majority baseline"
EQUAL_ACCURACY: Final = 0.02
"""Accuracies that differ by this or more are not the same task performance."""


def judge_each(table: pl.DataFrame, key: str, text: str, say: Callable[[pl.DataFrame], Evidence]) -> list[Claim]:
    """Return what each setting says about a claim of the paper, over its seeds; `say` is given the rows of a run."""
    smallest = PAPER_CLAIMS[key].smallest
    return [
        make_claim(text, setting, [(run["run_id"][0], say(run)) for run in runs], smallest=smallest)
        for setting, runs in settings(table)
    ]


def judge_pair(
    table: pl.DataFrame,
    key: str,
    text: str,
    setting: str,
    variants: tuple[str, str],
    say: Callable[[pl.DataFrame, pl.DataFrame], Evidence],
) -> list[Claim]:
    """Return what two variants say about a claim, runs with the same seed side by side; nothing without such runs."""
    first, second = (
        {run["seed"][0]: run for _, run in table.filter(variant=name).group_by("seed")} for name in variants
    )
    pairs = [(first[seed], second[seed]) for seed in sorted(first.keys() & second.keys())]
    evidence = [(f"{one['run_id'][0]} and {two['run_id'][0]}", say(one, two)) for one, two in pairs]
    return [make_claim(text, setting, evidence, smallest=PAPER_CLAIMS[key].smallest)] if evidence else []


def judge_follows(table: pl.DataFrame) -> list[Claim]:
    """Return for each setting whether depth follows the knob, over its seeds."""

    def say(run: pl.DataFrame) -> Evidence:
        return Evidence(run["seed"][0], estimate(find(run, "slope")), obstacle(run))

    return judge_each(table, "follows-complexity", quantity("slope").sentence, say)


def judge_less_depth(table: pl.DataFrame, first: str, second: str) -> list[Claim]:
    """Return for each task whether the second variant spends less depth than the first at equal accuracy.

    Both are read alike, by their expected depth: a mode and a median are different readings of one distribution.
    """
    text = f"Expected answer depth of {first} minus that of {second}, iterations."
    claims = []
    for names, rows in table.group_by("task", "subtask", maintain_order=True):
        setting = " ".join(filter(None, (*names, first, "against", second)))
        claims += judge_pair(rows, "o-less-depth", text, setting, (first, second), _less)
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
    if is_broken(find(run, "slope")):
        return BROKEN_NULL
    need = find(run, "need")
    if need["value"] is None:
        return f"whether depth is needed is unknown: {need['reason'] or 'no forced depths were evaluated'}"
    if need["value"] < NEED:
        return f"depth is not needed: depth 1 loses {100 * need['value']:.0f} points at the hardest knob"
    return ""


def is_broken(row: Row) -> bool:
    """Say whether the range that shuffled records give does not hold zero."""
    return row["null_low"] is not None and not row["null_low"] <= 0 <= row["null_high"]


def learned(run: pl.DataFrame, *, knob: int | None = None, subset: str = "all") -> bool:
    """Say whether a run is surely better than always giving the commonest answer: by default at knobs of training."""
    accuracy, majority = (find(run, name, knob=knob, subset=subset) for name in ("accuracy", "majority"))
    return accuracy["low"] is not None and bool(accuracy["low"] > majority["value"])


def beyond_null(row: Row) -> Estimate:
    """Return how far a row's estimate lies outside the range that there is without any effect, where that is known."""
    found = estimate(row)
    return found if row["null_low"] is None else beyond(found, row["null_low"], row["null_high"])


def _less(first: pl.DataFrame, second: pl.DataFrame) -> Evidence:
    seed = first["seed"][0]
    depths = [find(run, "expected_depth", subset="answer") for run in (first, second)]
    accuracies = [find(run, "accuracy")["value"] for run in (first, second)]
    why = "" if learned(first) and learned(second) else NOT_LEARNED
    if not why and abs(accuracies[0] - accuracies[1]) >= EQUAL_ACCURACY:
        why = f"accuracies are 2 points or more apart: {accuracies[0]:.3f} and {accuracies[1]:.3f}"
    if None in (depths[0]["value"], depths[1]["value"]):
        return Evidence(seed, Estimate(None, reason="a policy has no distribution over depths"), why)
    return Evidence(seed, Estimate(depths[0]["value"] - depths[1]["value"]), why)
