"""The claim that ANIRA-E follows structure and ANIRA-O execution state, as one number that has a sign.

Of what the features explain of depth within instances, a part is only in the features of the state, and a part only in
the structural ones. The state's share of the two parts in ANIRA-O, less the same in ANIRA-E, is positive if the claim
is true. With depth shuffled within instances both shares are noise of the same kind, and the difference is around 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from anira.analysis.bootstrap import DRAWS, bootstrap
from anira.analysis.brevo.regression import RegressionFigures
from anira.analysis.brevo.shares import POSITION, added_by_groups, moments_of, shuffled_groups, sizes_of
from anira.analysis.brevo.tokens import AnswerTokens
from anira.analysis.claims import Claim, make_claim
from anira.analysis.intervals import Estimate, Floats
from anira.analysis.nulls import Null, nulls_cover_zero
from anira.analysis.verdict import Evidence

CLAIM: Final = (
    "E follows structure, O execution state: within instances, the state's share of what the features explain is "
    "larger in ANIRA-O than in ANIRA-E"
)


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """The state's share in one run of ANIRA-O less that in the run of ANIRA-E with the same seed."""

    seed: int
    runs: tuple[str, str]
    """E, O."""
    difference: Estimate
    given_position: Estimate
    """The same with the place of a node in its answer held fixed."""
    null: Null | None
    """The difference with depth shuffled within instances: must cover zero."""
    obstacle: str
    """Why the two cannot speak about the claim, or an empty string."""


def contrast(
    early: tuple[AnswerTokens, RegressionFigures],
    online: tuple[AnswerTokens, RegressionFigures],
    *,
    seed: int = 0,
    draws: int = DRAWS,
) -> Contrast:
    """Compare two runs; the instances of each are resampled on their own."""
    who, runs = early[1].seed, (early[1].run_id, online[1].run_id)
    obstacles = [f"{one.variant}: {why}" for _, one in (early, online) if (why := one.undefined or one.obstacle)]
    if early[0].undefined or online[0].undefined:
        nothing = Estimate(None, reason="; ".join(obstacles))
        return Contrast(
            seed=who, runs=runs, difference=nothing, given_position=nothing, null=None, obstacle=nothing.reason
        )
    rng, *null_rngs = np.random.default_rng(seed).spawn(3)
    statistic = _Difference(early[0], online[0])
    difference, given_position = bootstrap({"share": statistic}, statistic.strata, rng=rng, draws=draws)["share"]
    shares = [shuffled_groups(one[0], rng=rng).share for one, rng in zip((early, online), null_rngs, strict=True)]
    null = Null.of(shares[1] - shares[0])
    if not nulls_cover_zero([null]):
        obstacles.append("the null of the difference does not cover zero")
    return Contrast(
        seed=who,
        runs=runs,
        difference=difference,
        given_position=given_position,
        null=null,
        obstacle="; ".join(obstacles),
    )


def judge_contrasts(contrasts: Sequence[Contrast]) -> Claim:
    """Return the verdict on the claim; two runs of a seed are one piece of evidence."""
    evidence = [(" and ".join(one.runs), Evidence(one.seed, one.difference, one.obstacle)) for one in contrasts]
    return make_claim(CLAIM, "brevo anira-e and anira-o", evidence)


class _Difference:
    """Two figures over the instances of both runs, one after the other: the difference, and it given position."""

    undefined = "within instances the features explain nothing"

    def __init__(self, early: AnswerTokens, online: AnswerTokens) -> None:
        self._early, self._online = moments_of(early, within=True), moments_of(online, within=True)
        sizes = sizes_of(early), sizes_of(online)
        self.strata = np.concatenate([sizes[0], sizes[1] + sizes[0].max() + 1])

    def __call__(self, weights: Floats) -> Floats:
        """Return both figures in every resample."""
        middle = self._early.num_instances
        early, online = self._early.explained(weights[:middle]), self._online.explained(weights[middle:])
        shares = [[added_by_groups(one, given=given).share for one in (early, online)] for given in ((), POSITION)]
        return np.stack([in_online - in_early for in_early, in_online in shares])
