"""The paper's model of MANO's question tokens: five branches, in two of which depth is linear in the parser's state.

    operand,  r = 1     a
    operand,  r = 2     a
    operator, r = 0     a
    operator, r = 1     a + b s + c d
    operator, r = 2     a + c d

Branches share no coefficient, so they are fitted one by one. How much of the variance of depth they explain is one
number for all of them, beside that of position alone and of both together.
"""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from scipy import sparse

from anira.measure.effects import CONSTANT, NO_TOKENS, group_by, least_squares
from anira.measure.statistics.estimates import Estimate, Floats, Ints

TERMS: Final = {"s_t": "completed", "d_t": "stack"}
"""Term of a branch -> the column of the tokens that it multiplies."""
_FLAT = 1e-9  # a share of the variance below this is rounding


class Branch(NamedTuple):
    """The tokens of one branch, and what depth depends on in it."""

    kind: str
    remaining: int
    terms: tuple[str, ...] = ()


BRANCHES: Final = (
    Branch("operand", 1),
    Branch("operand", 2),
    Branch("operator", 0),
    Branch("operator", 1, ("s_t", "d_t")),
    Branch("operator", 2, ("d_t",)),
)


@dataclass(frozen=True)
class Tokens:
    """Question tokens in the order of their instances, with the parser's state before each."""

    instance: Ints
    """Ascending from 0, without gaps."""
    position: Floats
    operator: Ints
    remaining: Floats
    """r_t"""
    completed: Floats
    """s_t"""
    stack: Floats
    """d_t"""

    def among(self, kind: str, remaining: int) -> Ints:
        """Say of each token whether it is of a kind, and its r_t the given one."""
        chosen: Ints = (self.operator == (kind == "operator")) & (self.remaining == remaining)
        return chosen


def fit_branch(branch: Branch, tokens: Tokens, depth: Floats) -> dict[str, Estimate]:
    """Return the constant and the slopes of one branch; a term that cannot be told from the others says so."""
    kept = tokens.among(branch.kind, branch.remaining)
    columns = {term: getattr(tokens, TERMS[term])[kept] for term in branch.terms}
    return _estimates(depth[kept], columns, tokens.instance[kept])


def _estimates(depth: Floats, columns: dict[str, Floats], instance: Ints) -> dict[str, Estimate]:
    """Return the constant and the slopes; a column that does not vary is part of the constant."""
    names = ("constant", *columns)
    if not len(depth):
        return dict.fromkeys(names, Estimate(None, reason=NO_TOKENS))
    if columns and np.ptp(depth) == 0:
        return dict.fromkeys(names, Estimate(None, reason=CONSTANT))
    still = {
        name: Estimate(None, reason=f"{name} is always {values[0]:g}, its part is in the constant")
        for name, values in columns.items()
        if np.ptp(values) == 0
    }
    kept = [name for name in columns if name not in still]
    design = np.stack([np.ones(len(depth)), *(columns[name] for name in kept)], axis=1)
    if np.linalg.matrix_rank(design) < design.shape[1]:
        together = Estimate(None, reason=f"{' and '.join(kept)} do not vary apart")
        return dict.fromkeys(names, together) | still
    values = dict(zip(("constant", *kept), least_squares(depth, design, instance), strict=True))
    return {name: (values | still)[name] for name in names}


class Shares:
    """Five shares of the variance of depth: R2 of the model, of the means by position, and of both together; what the
    model explains of what position leaves; and what position explains of what the model leaves.

    Tokens with the same state and position share a cell, and cells of instances add up: a resample is a weighted sum of
    cells, and fits are made anew on it.
    """

    undefined = CONSTANT

    def __init__(self, tokens: Tokens, depth: Floats) -> None:
        columns = _model_columns(tokens)
        self._cell = group_by(*columns.T, tokens.position)
        first = np.unique(self._cell, return_index=True)[1]
        self._model, position = columns[first], tokens.position[first]
        self._position = (position[:, None] == np.unique(position)).astype(np.float64)
        shape = (len(first), int(tokens.instance.max()) + 1)
        place = (self._cell, tokens.instance)
        self._counts = sparse.csr_array((np.ones(len(depth)), place), shape=shape)
        centred = depth - depth.mean()
        self._sums = sparse.csr_array((centred, place), shape=shape)
        self._squares = np.bincount(tokens.instance, weights=centred**2)
        self._depth = centred

    def __call__(self, weights: Floats) -> Floats:
        """Return the five shares in every resample."""
        return self._shares(self._counts @ weights, self._sums @ weights, self._squares @ weights)

    def shuffled(self, orders: list[Ints]) -> Floats:
        """Return the five shares with the depths of tokens in other orders, (5, orders)."""
        size = len(self._model)
        sums = [np.bincount(self._cell, weights=self._depth[order], minlength=size) for order in orders]
        counts = np.bincount(self._cell, minlength=size).astype(np.float64)
        squares = np.full(len(orders), self._squares.sum())
        return self._shares(np.tile(counts[:, None], len(orders)), np.stack(sums, axis=1), squares)

    def _shares(self, counts: Floats, sums: Floats, squares: Floats) -> Floats:
        both = np.concatenate([self._model, self._position], axis=1)
        of_mean = sums.sum(0) ** 2 / counts.sum(0)
        total = squares - of_mean
        total[total <= _FLAT * squares] = np.nan
        model, position, together = (
            np.clip((_fitted(design, counts, sums) - of_mean) / total, 0, 1)
            for design in (self._model, self._position, both)
        )
        return np.stack([model, position, together, _beyond(together, position), _beyond(together, model)])


def _model_columns(tokens: Tokens) -> Floats:
    """Return the columns of all branches side by side, (tokens, 8), each at most 1."""
    columns: list[Any] = []
    for branch in BRANCHES:
        kept = tokens.among(branch.kind, branch.remaining).astype(np.float64)
        parts = [getattr(tokens, TERMS[term]) for term in branch.terms]
        columns += [kept, *(kept * part / max(1.0, part.max()) for part in parts)]
    return np.stack(columns, axis=1)


def _fitted(design: Floats, counts: Floats, sums: Floats) -> Floats:
    """Return the sum of squares of fitted values for every column of counts and sums (cells, fits)."""
    size = design.shape[1]
    products = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)
    normal = (counts.T @ products).reshape(-1, size, size)
    right = sums.T @ design
    # Columns overlap (the root operator stands at position 1 and nowhere else): fitted values are unique all the same.
    inverse = np.linalg.pinv(normal, rcond=_FLAT, hermitian=True)
    fitted: Floats = np.einsum("rp,rpq,rq->r", right, inverse, right)
    return fitted


def _beyond(both: Floats, one: Floats) -> Floats:
    """Return the share that is explained in addition of what one leaves unexplained."""
    left = np.where(1 - one > _FLAT, 1 - one, np.nan)
    return np.clip((both - one) / left, 0, 1)
