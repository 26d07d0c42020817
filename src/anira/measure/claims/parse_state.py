"""The claim that depth is spent on the problem while the question is being read, judged over seeds on MANO."""

from typing import Final

import polars as pl

from anira.measure.claims.alignment import estimate, obstacle, settings
from anira.measure.claims.knob import Claim, make_claim
from anira.measure.claims.paper import PAPER_CLAIMS
from anira.measure.claims.verdict import Evidence
from anira.measure.statistics.estimates import beyond
from anira.measure.tidy import find

_CHILD = "Operators with r_t = 1 get more depth than those with r_t = 2"
_COMPLETED = "Among operators with r_t = 1 depth rises with s_t"
HELD: Final = {
    ("right_child", "plain"): _CHILD,
    ("right_child", "matched"): f"{_CHILD}, at equal position and d_t",
    ("completed_slope", "plain"): f"{_COMPLETED}, at equal d_t",
    ("completed_slope", "matched"): f"{_COMPLETED}, at equal position and d_t",
}
"""Quantity and form of a contrast -> the claim that it is positive."""


def judge_reading(table: pl.DataFrame) -> dict[tuple[str, str, str], Claim]:
    """Return four verdicts for each setting, by setting, quantity and form.

    They are about the two contrasts of exit depth, as in the paper and at equal position and d_t: what only counts
    positions is found by the first and not by the second. Each is judged by how far it lies outside the range that it
    has with depth shuffled within instances.
    """
    smallest = PAPER_CLAIMS["reads-while-solving"].smallest
    claims = {}
    for setting, runs in settings(table):
        for (name, form), text in HELD.items():
            evidence = [(run["run_id"][0], _evidence(run, name, form)) for run in runs]
            said = f"{text}, beyond the range of shuffled depth."
            claims[setting, name, form] = make_claim(said, setting, evidence, smallest=smallest)
    return claims


def _evidence(run: pl.DataFrame, name: str, form: str) -> Evidence:
    row = find(run, name, subset=form)
    found = estimate(row)
    if row["null_low"] is not None:
        found = beyond(found, row["null_low"], row["null_high"])
    return Evidence(run["seed"][0], found, obstacle(run))
