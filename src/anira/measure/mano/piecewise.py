"""The paper's model of MANO's question tokens: five branches, in two of which depth is linear in the parser's state.

    operand,  r = 1     a
    operand,  r = 2     a
    operator, r = 0     a
    operator, r = 1     a + b s + c d
    operator, r = 2     a + c d

Branches share no coefficient, so they are fitted one by one. How much of the variance of depth they explain is one
number for all of them, beside that of position alone and of both together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from anira.measure.effects import CONSTANT, NO_TOKENS, least_squares
from anira.measure.statistics.estimates import Estimate, Floats, Ints
from anira.measure.statistics.explained import Explained, Moments, Shares, shuffled_r2, unit

TERMS: Final = {"s_t": "completed", "d_t": "stack"}
"""Term of a branch -> the column of the tokens that it multiplies."""
_DEPTH: Final = "depth"
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


def parse_shares(tokens: Tokens, depth: Floats, orders: Sequence[Ints]) -> tuple[Shares, list[Floats]]:
    """Return five shares of the variance of depth as a statistic, and the same with the depths in other orders.

    They are R2 of the model, of the means by position, and of both together; what the model explains of what position
    leaves; and what position explains of what the model leaves.
    """
    places = {f"position {one:g}": tokens.position == one for one in np.unique(tokens.position)}
    columns = {**_model_columns(tokens), **{name: one.astype(np.float64) for name, one in places.items()}}
    both, position = list(columns), list(places)
    models = ([name for name in both if name not in places], position, both)

    def share(which: int, explained: Explained) -> Floats:
        return _five(*(explained.r2(_DEPTH, names) for names in models))[which]

    moments = Moments({**columns, _DEPTH: depth}, tokens.instance, np.zeros_like(tokens.instance))
    statistic = Shares(moments, [partial(share, i) for i in range(5)], undefined=CONSTANT)
    centred = {name: unit(one) for name, one in columns.items()}
    shuffled = shuffled_r2(centred, depth - depth.mean(), models, orders)
    return statistic, _five(*(np.clip(one, 0, 1) for one in shuffled))


def _five(model: Floats, position: Floats, both: Floats) -> list[Floats]:
    return [model, position, both, _beyond(both, position), _beyond(both, model)]


def _model_columns(tokens: Tokens) -> dict[str, Floats]:
    """Return the columns of all branches side by side."""
    columns: dict[str, Floats] = {}
    for branch in BRANCHES:
        kept = tokens.among(branch.kind, branch.remaining).astype(np.float64)
        parts = {"": 1.0, **{term: getattr(tokens, TERMS[term]) for term in branch.terms}}
        columns |= {f"{branch.kind} {branch.remaining} {term}": kept * part for term, part in parts.items()}
    return columns


def _beyond(both: Floats, one: Floats) -> Floats:
    """Return the share that is explained in addition of what one leaves unexplained."""
    left = np.where(1 - one > _FLAT, 1 - one, np.nan)
    return np.clip((both - one) / left, 0, 1)
