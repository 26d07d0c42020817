"""The claim that ANIRA-E follows the structure of the problem and ANIRA-O the state of the search, on BREVO."""

from typing import Any, Final

import polars as pl

from anira.measure.claims.alignment import estimate, obstacle, settings
from anira.measure.claims.knob import BROKEN_NULL, Claim, make_claim
from anira.measure.claims.paper import PAPER_CLAIMS
from anira.measure.claims.verdict import Evidence
from anira.measure.tidy import find, joined

TEXT: Final = "The state's share of what state and structure add within instances, in ANIRA-O less that in ANIRA-E."
NOISE: Final = "neither structure nor state adds more than shuffled depth gives"


def judge_structure(table: pl.DataFrame, early: str, online: str) -> list[Claim]:
    """Return the verdict over seeds; runs of the two variants with the same seed are compared."""
    runs = {
        variant: {run["seed"][0]: run for _, some in settings(table.filter(variant=variant)) for run in some}
        for variant in (early, online)
    }
    seeds = sorted(runs[early].keys() & runs[online].keys())
    pairs = [(seed, runs[early][seed], runs[online][seed]) for seed in seeds]
    evidence = [(f"{e['run_id'][0]} and {o['run_id'][0]}", _evidence(seed, e, o)) for seed, e, o in pairs]
    smallest = PAPER_CLAIMS["e-structure-o-state"].smallest
    return [make_claim(TEXT, f"brevo {early} and {online}", evidence, smallest=smallest)] if evidence else []


def _evidence(seed: Any, early: pl.DataFrame, online: pl.DataFrame) -> Evidence:
    gap = find(online, "state_share_gap", subset="within")
    whys = [f"{run['variant'][0]}: {why}" for run in (early, online) if (why := obstacle(run) or _noise(run))]
    broken = BROKEN_NULL if gap["null_low"] is not None and not gap["null_low"] <= 0 <= gap["null_high"] else ""
    return Evidence(seed, estimate(gap), joined(*whys, broken))


def _noise(run: pl.DataFrame) -> str:
    """Return why a share of what the groups add means nothing, or an empty text."""
    added = [find(run, "group_r2", subset=group) for group in ("structure", "state")]
    inside = [row["value"] is None or row["null_high"] is None or row["value"] <= row["null_high"] for row in added]
    return NOISE if all(inside) else ""
