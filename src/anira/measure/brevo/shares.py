"""What groups of BREVO's features explain: structure, and the state of the algorithm.

Every run has the same features here, whatever the four stages choose. What a group adds is what R2 loses without all of
it; what both groups know is in neither.

The shares that a claim rests on are within instances: all columns less their mean in the instance. Over all tokens, a
model that gives every token of an instance the same depth would have shares, too, and they could differ between two
such models: differences between instances make them, and shuffling within instances does not break them.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

import numpy as np

from anira.measure.brevo.tokens import STATE, STRUCTURE, AnswerTokens
from anira.measure.statistics.bootstrap import DRAWS, bootstrap, resamples
from anira.measure.statistics.estimates import Estimate, Floats, Ints, percentile
from anira.measure.statistics.explained import Explained, Moments, Shares, shuffled_r2
from anira.measure.statistics.linear_fit import without_means
from anira.measure.statistics.nulls import Null, orders_within
from anira.measure.tidy import Row, joined, make_row

EXPECTED: Final = "expected_depth"
ARGMAX: Final = "argmax_depth"
POSITION: Final = ("position", "position_squared", "is_first")
"""The number of a node in its answer, its square, and whether it is the first, which `<ans>` predicts."""
UNDEFINED: Final = "within instances the features explain nothing"
_MOVED: Final = {"state": (*STATE, "remaining"), "structure": [name for name in STRUCTURE if name != "remaining"]}
_FLAT = 1e-9


Added = tuple[Floats, Floats]
"""What structure adds to state, and state to structure; one number per resample or shuffle."""


def state_share(added: Added) -> Floats:
    """Return state / (state + structure), NaN where both are 0."""
    structure, state = added
    with np.errstate(invalid="ignore"):
        return state / (state + structure)


def added_by_groups(
    explained: Explained,
    *,
    state: Sequence[str] = STATE,
    structure: Sequence[str] = STRUCTURE,
    given: Sequence[str] = (),
) -> Added:
    """Return what both groups add; `given` are features that count for neither."""
    return (
        explained.added(EXPECTED, [*given, *state], structure, by_group=True),
        explained.added(EXPECTED, [*given, *structure], state, by_group=True),
    )


def group_estimates(
    tokens: AnswerTokens, moments: Moments, *, rng: np.random.Generator, draws: int
) -> Iterator[tuple[str, str, Estimate, Null | None]]:
    """Yield what the groups add within instances, and the state's share of it in four readings.

    The readings: within instances; with the place of a node in its answer held fixed; with `remaining`, which the paper
    calls structural, among the features of the state; and over all tokens, where differences between instances come in.
    """
    statistics = {
        "within": Shares(
            moments_of(tokens, within=True),
            [
                lambda one: added_by_groups(one)[0],
                lambda one: added_by_groups(one)[1],
                lambda one: state_share(added_by_groups(one)),
                lambda one: state_share(added_by_groups(one, given=POSITION)),
                lambda one: state_share(added_by_groups(one, **_MOVED)),
            ],
            undefined=UNDEFINED,
        ),
        "pooled": Shares(
            moments, [lambda one: state_share(added_by_groups(one))], undefined="the features explain nothing"
        ),
    }
    found = bootstrap(statistics, sizes_of(tokens), rng=rng, draws=draws)
    structure, state = shuffled_groups(tokens, rng=rng)
    yield "group_r2", "structure", found["within"][0], Null.of(structure)
    yield "group_r2", "state", found["within"][1], Null.of(state)
    shares = [*found["within"][2:], *found["pooled"]]
    for subset, estimate in zip(("within", "placed", "moved", "pooled"), shares, strict=True):
        yield "state_share", subset, estimate, None


def contrast_rows(early: AnswerTokens, online: AnswerTokens, *, seed: int = 0, draws: int = DRAWS) -> Iterator[Row]:
    """Yield the state's share in a run of ANIRA-O minus that in the run of ANIRA-E with the same seed.

    It is positive if ANIRA-E follows structure and ANIRA-O the state of the search. With depth shuffled within
    instances both shares are noise of the same kind, and the difference is around 0. Rows are those of the run of
    ANIRA-O; the instances of each run are resampled on their own.
    """
    estimates, null = _contrast(early, online, np.random.default_rng(seed).spawn(4), draws)
    for subset, estimate in zip(("within", "placed"), estimates, strict=True):
        own = null if subset == "within" else None
        n = len(online.instance)
        yield make_row(online.labels, "state_share_gap", estimate, n=n, split=online.split, subset=subset, null=own)


def _contrast(
    early: AnswerTokens, online: AnswerTokens, streams: Sequence[np.random.Generator], draws: int
) -> tuple[list[Estimate], Null | None]:
    whys = [f"{one.labels.variant}: {one.undefined}" for one in (early, online) if one.undefined]
    if whys:
        return [Estimate(None, reason=joined(*whys))] * 2, None
    of_early, of_online = (
        _resampled_shares(one, rng=rng, draws=draws) for one, rng in zip((early, online), streams[:2], strict=True)
    )
    estimates = [percentile(float(row[0]), row[1:], UNDEFINED) for row in of_online - of_early]
    shuffled = [
        state_share(shuffled_groups(one, rng=rng)) for one, rng in zip((early, online), streams[2:], strict=True)
    ]
    return estimates, Null.of(shuffled[1] - shuffled[0])


def _resampled_shares(tokens: AnswerTokens, *, rng: np.random.Generator, draws: int) -> Floats:
    """Return the state's share, and it given position (2, 1 + draws): in the records, then in every resample."""
    moments = moments_of(tokens, within=True)
    parts = []
    for weights in chain([None], resamples(sizes_of(tokens), rng=rng, draws=draws)):
        explained = moments.explained(weights)
        parts.append(np.stack([state_share(added_by_groups(explained, given=given)) for given in ((), POSITION)]))
    return np.concatenate(parts, axis=1)


def shuffled_groups(tokens: AnswerTokens, *, rng: np.random.Generator) -> Added:
    """Return what both groups add within instances with depth shuffled there: nothing but noise."""
    columns = _within(tokens, {**tokens.features, EXPECTED: tokens.expected_depth})
    features = {name: columns[name] for name in (*STRUCTURE, *STATE)}
    orders = orders_within(tokens.instance, rng=rng)
    both, structure, state = shuffled_r2(features, columns[EXPECTED], (list(features), STRUCTURE, STATE), orders)
    return both - state, both - structure


def moments_of(tokens: AnswerTokens, *, within: bool = False) -> Moments:
    """Return what is kept of the tokens for resampling: features, position and both depths, N as the group."""
    position = tokens.position.astype(np.float64)
    places = dict(zip(POSITION, (position, position**2, (position == 0).astype(np.float64)), strict=True))
    columns = {**tokens.features, **places, EXPECTED: tokens.expected_depth, ARGMAX: tokens.argmax_depth}
    return Moments(_within(tokens, columns) if within else columns, tokens.instance, tokens.size)


def _within(tokens: AnswerTokens, columns: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return columns less their mean in the instance; what rounding leaves of one that is constant there is 0."""
    whole = np.stack(list(columns.values()), axis=1)
    left = without_means(whole, tokens.instance)
    left[:, np.abs(left).max(0) < _FLAT * np.abs(whole).max(0)] = 0
    return dict(zip(columns, left.T.copy(), strict=True))


def sizes_of(tokens: AnswerTokens) -> Ints:
    """Return the graph size of each instance."""
    return tokens.size[np.flatnonzero(np.diff(tokens.instance, prepend=-1))]
