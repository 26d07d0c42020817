"""The claim that ANIRA-E follows the structure of the problem and ANIRA-O the state of the search, on BREVO."""

from typing import Final

import polars as pl

from anira.measure.claims.alignment import is_broken, judge_pair, obstacle
from anira.measure.claims.verdict import BROKEN_NULL, Claim, Evidence
from anira.measure.tidy import estimate, find, joined

TEXT: Final = "The state's share of what state and structure add within instances, in ANIRA-O minus that in ANIRA-E."
NOISE: Final = "neither structure nor state adds more than shuffled depth gives"


def judge_structure(table: pl.DataFrame, early: str, online: str) -> list[Claim]:
    """Return the verdict over seeds; runs of the two variants with the same seed are compared."""
    setting = f"brevo {early} and {online}"
    return judge_pair(table, "e-structure-o-state", TEXT, setting, (early, online), _evidence)


def _evidence(early: pl.DataFrame, online: pl.DataFrame) -> Evidence:
    gap = find(online, "state_share_gap", subset="within")
    whys = [f"{run['variant'][0]}: {why}" for run in (early, online) if (why := obstacle(run) or _noise(run))]
    return Evidence(early["seed"][0], estimate(gap), joined(*whys, BROKEN_NULL if is_broken(gap) else ""))


def _noise(run: pl.DataFrame) -> str:
    """Return why a share of what the groups add means nothing, or an empty text."""
    added = [find(run, "group_r2", subset=group) for group in ("structure", "state")]
    inside = [row["value"] is None or row["null_high"] is None or row["value"] <= row["null_high"] for row in added]
    return NOISE if all(inside) else ""
