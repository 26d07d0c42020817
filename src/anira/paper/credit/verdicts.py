"""What the registered rule says (docs/studies.md, study 3): which ways of credit differ, and the two hypotheses."""

from typing import Final, Literal

import polars as pl

from anira.measure import FEWEST
from anira.measure.tidy import Row
from anira.paper.credit.pairs import CREDIT, DIFFERENCES, FULL_GAP, GAMMAS, ONE_GAP, Pair, priced
from anira.paper.found import Found
from anira.site import Badge, Note
from anira.site.tables import estimate_text

JUDGED: Final = 0.1
"""The price at which the hypotheses are judged."""
SMALLEST: Final = {"accuracy_difference": 0.02, "depth_difference": 0.2, "slope_difference": 0.05}
"""What a difference must be at least, in its own unit."""
MOST_LOST: Final = 0.02
"""Accuracy that the exact expectation may lose at most."""
_OF: Final = {
    "accuracy_difference": "accuracy",
    "depth_difference": "expected depth",
    "slope_difference": "the slope of expected depth",
}

Held = Literal["holds", "does not hold", "open", "no verdict yet"]


def difference(found: Found, pair: Pair, gamma: float, quantity: str) -> Row:
    """Return what the first of a pair has more than the second, by seed."""
    return found.row(quantity, variant=priced(pair.name, gamma))


def differ(found: Found, pair: Pair, gamma: float, quantity: str) -> bool | None:
    """Say whether two ways of credit differ; None with too few seeds."""
    row = difference(found, pair, gamma, quantity)
    if row["low"] is None or row["n"] < FEWEST:
        return None
    return bool(row["low"] > 0 or row["high"] < 0) and abs(row["value"]) >= SMALLEST[quantity]


def gap_closes(found: Found) -> Held:
    """Judge hypothesis 1: with one-step lookahead ANIRA-E and ANIRA-O are nearer in expected depth, in every seed."""
    full, one = (_by_seed(found, pair) for pair in (FULL_GAP, ONE_GAP))
    seeds = full.keys() & one.keys()
    if len(seeds) < FEWEST:
        return "no verdict yet"
    return "holds" if all(abs(one[seed]) < abs(full[seed]) for seed in seeds) else "does not hold"


def exact_is_as_good(found: Found) -> Held:
    """Judge hypothesis 2: PonderNet loses at most two points of accuracy against ANIRA-O."""
    row = difference(found, CREDIT[-1], JUDGED, "accuracy_difference")
    if row["low"] is None or row["n"] < FEWEST:
        return "no verdict yet"
    return "holds" if row["low"] > -MOST_LOST else "does not hold" if row["high"] < -MOST_LOST else "open"


def _by_seed(found: Found, pair: Pair) -> dict[int, float]:
    rows = found.runs.filter(pl.col("variant") == priced(pair.name, JUDGED), quantity="depth_difference")
    return dict(zip(rows["seed"], rows["value"], strict=True))


def badge(found: Found) -> Badge:
    """Say how many of the two hypotheses hold."""
    states = [gap_closes(found), exact_is_as_good(found)]
    if "no verdict yet" in states:
        return Badge("no verdict yet", "open")
    held = states.count("holds")
    return Badge(f"{held or 'none'} of 2 hypotheses {'holds' if held == 1 else 'hold'}", "yes" if held else "no")


def answer(found: Found) -> list[str]:
    """Return the sentences that the page begins with."""
    known = {
        (pair, gamma, what): told
        for pair in CREDIT
        for gamma in GAMMAS
        for what in DIFFERENCES
        if (told := differ(found, pair, gamma, what)) is not None
    }
    if not known:
        return [f"No verdict yet: it takes {FEWEST} seeds of each way of credit."]
    count = sum(known.values())
    return [
        f"The way of credit changes what is learned in {count} of {len(known)} comparisons at the same price.",
        f"Lookahead of one step brings ANIRA-E and ANIRA-O nearer in depth: {gap_closes(found)}.",
        f"The exact expectation is as accurate as straight-through: {exact_is_as_good(found)}.",
    ]


def verdicts(found: Found) -> list[Note]:
    """Return the hypotheses with the numbers behind them, then what differs for each pair."""
    full, one = (estimate_text(difference(found, pair, JUDGED, "depth_difference")) for pair in (FULL_GAP, ONE_GAP))
    lost = estimate_text(difference(found, CREDIT[-1], JUDGED, "accuracy_difference"))
    gap = f"Expected depth of ANIRA-E minus that of ANIRA-O is {full} with full lookahead and {one} with one step."
    exact = f"PonderNet's accuracy minus ANIRA-O's is {lost}; it may lose {MOST_LOST:.0%}."
    return [
        Note(f"1, one step closes the gap in depth: {gap_closes(found)}", gap),
        Note(f"2, exact is no less accurate: {exact_is_as_good(found)}", exact),
        *(Note(pair.name, _differences(found, pair)) for pair in CREDIT),
    ]


def _differences(found: Found, pair: Pair) -> str:
    said = []
    for gamma in GAMMAS:
        told = {what: differ(found, pair, gamma, what) for what in DIFFERENCES}
        if None in told.values():
            said.append(f"at {gamma:g} no verdict yet")
            continue
        names = [_OF[what] for what, one in told.items() if one]
        said.append(f"at {gamma:g} they differ in {', '.join(names) or 'nothing'}")
    return f"{'; '.join(said).capitalize()}."
