"""The claim that depth follows the parser's work on LANO, judged over seeds."""

from collections.abc import Sequence
from typing import Final

from anira.measure.claims.knob import Claim, by_identity, experiment, make_claim, null_obstacle
from anira.measure.claims.verdict import Evidence, why_silent
from anira.measure.lano import LanoFigures
from anira.measure.statistics.estimates import beyond
from anira.measure.untrained import span

CLAIM: Final = (
    "expected depth rises with the parser's multiplications, given the last token "
    "(Spearman, beyond the range of untrained models)"
)
JUDGED: Final = ("possible", "predicts", "ops_mul")
"""Tokens, alignment and proxy of the correlation."""
SENTENCES: Final = 0.5
"""A run of which no larger share of the strings are sentences has not learned the language."""
NOT_COMPARED: Final = "no untrained model has a correlation to compare with"


def judge_lano(runs: Sequence[LanoFigures]) -> list[Claim]:
    """Return a verdict for each experiment, that is for all runs that differ in nothing but the seed."""
    return [
        make_claim(CLAIM, experiment(group[0].labels), [(one.labels.run_id, _evidence(one)) for one in group])
        for group in by_identity(runs, lambda one: [one.labels])
    ]


def _evidence(figures: LanoFigures) -> Evidence:
    """Return how far a run's correlation lies outside the range that untrained models have."""
    row = figures.row(*JUDGED)
    untrained = span(row.untrained.given_input)
    if untrained is None:
        return Evidence(figures.labels.seed, row.given_input, _obstacle(figures) or NOT_COMPARED)
    return Evidence(figures.labels.seed, beyond(row.given_input, untrained.low, untrained.high), _obstacle(figures))


def _obstacle(figures: LanoFigures) -> str:
    """Return why a run cannot speak, or an empty string."""
    if why := why_silent(override=figures.labels.override):
        return why
    written = figures.grammatical.value or 0.0
    if written <= SENTENCES:
        return f"only {written:.0%} of its strings are sentences of the language"
    return null_obstacle(row.null_within for row in figures.correlations)
