"""The claim that ANIRA-E follows structure and ANIRA-O execution state, as one number that has a sign.

Of what the features explain of depth within instances, a part is only in the features of the state, and a part only in
the structural ones. The state's share of the two parts in ANIRA-O, less the same in ANIRA-E, is positive if the claim
is true. With depth shuffled within instances both shares are noise of the same kind, and the difference is around 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np

from anira.measure.brevo.regression import RegressionFigures
from anira.measure.brevo.shares import POSITION, added_by_groups, moments_of, shuffled_groups, sizes_of
from anira.measure.brevo.tokens import AnswerTokens
from anira.measure.claims.knob import Claim, by_identity, make_claim
from anira.measure.claims.verdict import Evidence
from anira.measure.statistics.bootstrap import DRAWS, resamples
from anira.measure.statistics.estimates import Estimate, Floats, percentile
from anira.measure.statistics.nulls import Null, nulls_cover_zero
from anira.measure.summary import Labels

CLAIM: Final = (
    "E follows structure, O execution state: within instances, the state's share of what the features explain is "
    "larger in ANIRA-O than in ANIRA-E"
)


UNDEFINED: Final = "within instances the features explain nothing"

Read = tuple[AnswerTokens, RegressionFigures]
"""The tokens of a run, and what was found in them."""


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """The state's share in one run of ANIRA-O less that in the run of ANIRA-E with the same seed."""

    labels: tuple[Labels, Labels]
    """E, O."""
    difference: Estimate
    given_position: Estimate
    """The same with the place of a node in its answer held fixed."""
    null: Null | None
    """The difference with depth shuffled within instances: must cover zero."""
    obstacle: str
    """Why the two cannot speak about the claim, or an empty string."""

    @property
    def seed(self) -> int:
        """The seed of both runs."""
        return self.labels[0].seed

    @property
    def runs(self) -> str:
        """Name the two runs."""
        return " and ".join(one.run_id for one in self.labels)


def match_runs(early: Sequence[Read], online: Sequence[Read]) -> list[tuple[Read, Read]]:
    """Return every two runs of ANIRA-E and ANIRA-O that have the same seed, in its order."""
    pairs = [(one, other) for one in early for other in online if one[0].labels.seed == other[0].labels.seed]
    return sorted(pairs, key=lambda pair: pair[0][0].labels.seed)


def contrast(early: Read, online: Read, *, seed: int = 0, draws: int = DRAWS) -> Contrast:
    """Compare two runs; the instances of each are resampled on their own."""
    labels = early[0].labels, online[0].labels
    obstacles = [f"{one.labels.variant}: {why}" for _, one in (early, online) if (why := one.undefined or one.obstacle)]
    if early[0].undefined or online[0].undefined:
        nothing = Estimate(None, reason="; ".join(obstacles))
        return Contrast(labels=labels, difference=nothing, given_position=nothing, null=None, obstacle=nothing.reason)
    streams = np.random.default_rng(seed).spawn(4)
    in_early, in_online = (
        _resampled_shares(tokens, rng=rng, draws=draws)
        for (tokens, _), rng in zip((early, online), streams[:2], strict=True)
    )
    difference, given_position = (percentile(float(row[0]), row[1:], UNDEFINED) for row in in_online - in_early)
    shuffled = [shuffled_groups(one[0], rng=rng).share for one, rng in zip((early, online), streams[2:], strict=True)]
    null = Null.of(shuffled[1] - shuffled[0])
    if not nulls_cover_zero([null]):
        obstacles.append("the null of the difference does not cover zero")
    return Contrast(
        labels=labels,
        difference=difference,
        given_position=given_position,
        null=null,
        obstacle="; ".join(obstacles),
    )


def _resampled_shares(tokens: AnswerTokens, *, rng: np.random.Generator, draws: int) -> Floats:
    """Return the state's share, and it given position (2, 1 + draws): in the records, then in every resample."""
    moments = moments_of(tokens, within=True)
    parts = []
    for weights in chain([None], resamples(sizes_of(tokens), rng=rng, draws=draws)):
        explained = moments.explained(weights)
        parts.append(np.stack([added_by_groups(explained, given=given).share for given in ((), POSITION)]))
    return np.concatenate(parts, axis=1)


def judge_contrasts(contrasts: Sequence[Contrast]) -> list[Claim]:
    """Return a verdict for each two experiments, over their seeds; two runs of a seed are one piece of evidence."""
    return [_claim(group) for group in by_identity(contrasts, lambda one: one.labels)]


def _claim(group: Sequence[Contrast]) -> Claim:
    evidence = [(one.runs, Evidence(one.seed, one.difference, one.obstacle)) for one in group]
    early, online = group[0].labels
    return make_claim(CLAIM, f"{early.task} {early.variant} and {online.variant}", evidence)
