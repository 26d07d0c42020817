"""Least squares over tokens with intervals clustered by instance, and the same with something else held fixed.

statsmodels estimates; here it is said where there is nothing to estimate, or too little for an interval.
"""

from collections.abc import Callable

import numpy as np
from statsmodels.regression.linear_model import OLS

from anira.measure.statistics.bootstrap import SMALLEST_STRATUM
from anira.measure.statistics.estimates import LEVEL, Estimate, Floats, Ints
from anira.measure.statistics.linear_fit import without_means

Given = Callable[[Floats], Floats]
"""Takes away from values what the things that are held fixed explain of them."""
NO_TOKENS = "no such tokens"
CONSTANT = "the depth is constant"
TOO_FEW = f"it rests on fewer than {SMALLEST_STRATUM} instances"
_FLAT = 1e-12  # a share of the variance below this is rounding


def least_squares(depth: Floats, design: Floats, instance: Ints) -> list[Estimate]:
    """Return the coefficient of every column of `design` (tokens, columns), its interval robust to clusters.

    A coefficient that rests on fewer than 10 instances has no interval: one from so few clusters is too narrow.
    """
    model = OLS(depth, design)
    values = model.fit().params
    resting = effective_instances(np.linalg.pinv(design).astype(np.float64), instance)
    if (resting < SMALLEST_STRATUM).all():
        return [Estimate(float(value), reason=TOO_FEW) for value in values]
    fit = model.fit(cov_type="cluster", cov_kwds={"groups": instance}, use_t=True)
    return [
        Estimate(float(value), float(low), float(high)) if enough else Estimate(float(value), reason=TOO_FEW)
        for value, (low, high), enough in zip(values, fit.conf_int(1 - LEVEL), resting >= SMALLEST_STRATUM, strict=True)
    ]


def effective_instances(rows: Floats, instance: Ints) -> Floats:
    """Return how many instances, all counting alike, sums over tokens rest on; `rows` (sums, tokens) are their weights.

    Five tokens of three instances, and a sum that only looks at the first two:

    >>> effective_instances(np.array([[1.0, 1.0, 0.0, 0.0, 0.0]]), np.array([0, 1, 2, 2, 2])).tolist()
    [2.0]
    """
    by_instance = np.stack([np.bincount(instance, weights=row**2) for row in rows])
    count: Floats = by_instance.sum(1) ** 2 / (by_instance**2).sum(1)
    return count


Effect = tuple[Estimate, Floats]
"""How depth moves with one thing: the coefficient, and the weights of tokens by which it is a sum over depth."""


def effect(depth: Floats, x: Floats, instance: Ints, given: Given, *, fixed: str, constant: str = CONSTANT) -> Effect:
    """Return the coefficient of x with the rest held fixed.

    `fixed` is the reason to give where that leaves no x, `constant` where what is explained does not vary.

    By Frisch, Waugh and Lovell it is that of what is left of depth on what is left of x.
    """
    nothing = np.zeros(len(x))
    if not len(x):
        return Estimate(None, reason=NO_TOKENS), nothing
    if np.ptp(depth) == 0:
        return Estimate(None, reason=constant), nothing
    left = given(x)
    if left @ left <= _FLAT * (x @ x):
        return Estimate(None, reason=fixed), nothing
    return least_squares(given(depth), left[:, None], instance)[0], left / (left @ left)


def at_equal(*columns: Floats) -> Given:
    """Hold columns fixed by comparing only tokens that agree in all of them.

    >>> at_equal(np.array([1.0, 1.0, 2.0]))(np.array([4.0, 6.0, 9.0])).tolist()
    [-1.0, 1.0, 0.0]
    """
    group = group_by(*columns)
    return lambda values: without_means(values[:, None], group)[:, 0]


def group_by(*columns: Floats) -> Ints:
    """Number the groups of rows that agree in all columns, and return the number of each row.

    >>> group_by(np.array([1.0, 1.0, 2.0, 2.0]), np.array([5.0, 7.0, 5.0, 5.0])).tolist()
    [0, 1, 2, 2]
    """
    group: Ints = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        values, index = np.unique(column, return_inverse=True)
        group = np.unique(group * len(values) + index, return_inverse=True)[1]
    return group


def along(column: Floats) -> Given:
    """Hold a column fixed as a straight line."""
    if not len(column) or np.ptp(column) == 0:
        return at_equal(column)
    design = np.stack([np.ones(len(column)), column], axis=1)

    def left(values: Floats) -> Floats:
        residuals: Floats = OLS(values, design).fit().resid
        return residuals

    return left
