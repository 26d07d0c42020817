"""The claim that depth is spent on the problem while the question is being read, judged over seeds on MANO."""

from functools import partial
from typing import Final

import polars as pl

from anira.measure.claims.alignment import beyond_null, judge_each, obstacle
from anira.measure.claims.verdict import Claim, Evidence
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


def judge_reading(table: pl.DataFrame) -> list[Claim]:
    """Return four verdicts for each setting, in the order of HELD.

    They are about the two contrasts of exit depth, as in the paper and at equal position and d_t: what only counts
    positions is found by the first and not by the second. Each is judged by how far it lies outside the range that it
    has with depth shuffled within instances.
    """
    by_contrast = [
        judge_each(
            table,
            "reads-while-solving",
            f"{text}, beyond the range of shuffled depth.",
            partial(_evidence, place=place),
        )
        for place, text in HELD.items()
    ]
    return [claim for own in zip(*by_contrast, strict=True) for claim in own]


def _evidence(run: pl.DataFrame, place: tuple[str, str]) -> Evidence:
    name, form = place
    return Evidence(run["seed"][0], beyond_null(find(run, name, subset=form)), obstacle(run))
