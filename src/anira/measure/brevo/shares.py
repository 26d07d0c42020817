"""What groups of BREVO's features explain: structure, and the state of the algorithm.

Every run has the same features here, whatever the four stages choose. What a group adds is what R2 loses without all of
it; what both groups know is in neither.

The shares that a claim rests on are within instances: all columns less their mean in the instance. Over all tokens, a
model that gives every token of an instance the same depth would have shares, too, and they could differ between two
such models: differences between instances make them, and shuffling within instances does not break them.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from anira.measure.brevo.explained import Explained, Moments
from anira.measure.brevo.tokens import STATE, STRUCTURE, AnswerTokens
from anira.measure.statistics.estimates import Floats, Ints
from anira.measure.statistics.linear_fit import without_means
from anira.measure.statistics.nulls import orders_within

EXPECTED: Final = "expected_depth"
ARGMAX: Final = "argmax_depth"
POSITION: Final = ("position", "position_squared", "is_first")
"""The number of a node in its answer, its square, and whether it is the first, which `<ans>` predicts."""
_FLAT = 1e-9


class Added(NamedTuple):
    """What each group adds to the other one, and the state's share of the two; one number a resample or shuffle."""

    structure: Floats
    state: Floats

    @property
    def share(self) -> Floats:
        """state / (state + structure), NaN where both are 0."""
        with np.errstate(invalid="ignore"):
            return self.state / (self.state + self.structure)


def added_by_groups(
    explained: Explained,
    *,
    state: Sequence[str] = STATE,
    structure: Sequence[str] = STRUCTURE,
    given: Sequence[str] = (),
) -> Added:
    """Return what both groups add; `given` are features that count for neither."""
    return Added(
        structure=explained.added(EXPECTED, [*given, *state], structure, by_group=True),
        state=explained.added(EXPECTED, [*given, *structure], state, by_group=True),
    )


def shuffled_groups(tokens: AnswerTokens, *, rng: np.random.Generator) -> Added:
    """Return what both groups add within instances with depth shuffled there: nothing but noise."""
    names, columns = [*STRUCTURE, *STATE], _within(tokens, {**tokens.features, EXPECTED: tokens.expected_depth})
    depth, rows = columns[EXPECTED], np.stack([columns[name] for name in names])
    products = rows @ rows.T
    along = np.stack([rows @ depth[order] for order in orders_within(tokens.instance, rng=rng)])
    both, structure, state = (
        _explained(products, along, [names.index(name) for name in group]) for group in (names, STRUCTURE, STATE)
    )
    with np.errstate(invalid="ignore"):
        return Added(structure=(both - state) / (depth @ depth), state=(both - structure) / (depth @ depth))


def _explained(products: Floats, along: Floats, chosen: list[int]) -> Floats:
    """Return the sum of squares that the chosen columns explain, one a shuffle, from products with depth `along`."""
    inverse = np.linalg.pinv(products[np.ix_(chosen, chosen)], rcond=1e-9, hermitian=True)
    total: Floats = np.einsum("ri,ij,rj->r", along[:, chosen], inverse, along[:, chosen])
    return total


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
