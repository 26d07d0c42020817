"""The claim that depth is spent on the problem while the question is being read, judged over seeds on MANO."""

from collections.abc import Sequence
from typing import Final

from anira.measure.claims.knob import Claim, by_identity, experiment, make_claim
from anira.measure.claims.verdict import Evidence, why_silent
from anira.measure.mano.parse_state import CONTRASTS, ParseStateFigures
from anira.measure.statistics.estimates import beyond

HELD: Final = {
    ("right_child", "plain"): "",
    ("right_child", "matched"): ", at equal position and d_t",
    ("completed", "plain"): ", at equal d_t",
    ("completed", "matched"): ", at equal position and d_t",
}
"""Contrast and form of it -> what is held fixed in it, as the end of its claim."""


def judge_reading(runs: Sequence[ParseStateFigures]) -> list[Claim]:
    """Return four verdicts for each experiment, that is for all runs that differ in nothing but the seed.

    They are about the two contrasts of exit depth, as in the paper and at equal position and d_t: what only counts
    positions is found by the first and not by the second. Each is judged by how far it lies outside the range that it
    has with depth shuffled within instances.
    """
    groups = by_identity(runs, lambda one: [one.labels], lambda one: one.knobs)
    return [_claim(group, name, form) for group in groups for name, form in HELD]


def _claim(group: list[ParseStateFigures], name: str, form: str) -> Claim:
    evidence = [(one.labels.run_id, _evidence(one, name, form)) for one in group]
    text = f"{CONTRASTS[name]}{HELD[name, form]} (beyond the range of shuffled depth)"
    return make_claim(text, experiment(group[0].labels), evidence)


def _evidence(figures: ParseStateFigures, name: str, form: str) -> Evidence:
    """Return how far the contrast lies outside its null, which differences between instances move off zero."""
    row = figures.contrast("exit_depth", name)
    estimate, null = (row.plain, row.null_plain) if form == "plain" else (row.matched, row.null_matched)
    if null is not None:
        estimate = beyond(estimate, null.low, null.high)
    why = why_silent(figures.accuracy, override=figures.labels.override)
    return Evidence(figures.labels.seed, estimate, why)
