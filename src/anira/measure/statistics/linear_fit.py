"""Linear fits of depth on several features, with intervals clustered by instance; statsmodels does the estimating.

A constant for every group (every graph size, every instance) is not written as a column: the means of the groups are
taken off first, which gives the same coefficients (Frisch, Waugh, Lovell) and 200,000 rows of a few columns.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

import numpy as np
from scipy.linalg import qr
from statsmodels.regression.linear_model import OLS

from anira.measure.statistics.estimates import LEVEL, Estimate, Floats, Ints
from anira.measure.statistics.nulls import Null, orders_within

INTERCEPT: Final = "intercept"
_DEPENDENT = 1e-9  # a share of a column below this, left by the others, is rounding
_REASON = "constant, or determined by the other features"


class LinearFit:
    """Depth on some features, and a constant for every group; without groups, one constant, named `intercept`.

    Two instances of two tokens; within them, depth rises by 2 with x:

    >>> x, depth, instance = np.array([0.0, 1.0, 0.0, 2.0]), np.array([1.0, 3.0, 9.0, 13.0]), np.array([0, 0, 1, 1])
    >>> fit = LinearFit({"x": x}, depth, instance, groups=instance)
    >>> round(fit.coefficients["x"].value, 6), round(fit.r2, 6)
    (2.0, 1.0)
    """

    def __init__(
        self, features: Mapping[str, Floats], depth: Floats, instance: Ints, *, groups: Ints | None = None
    ) -> None:
        ones = {INTERCEPT: np.ones(len(depth))} if groups is None else {}
        columns = np.stack([*ones.values(), *features.values()], axis=1)
        self._instance = instance
        self._spread = float(depth.var() * len(depth))
        self._x = columns if groups is None else without_means(columns, groups)
        self._y = depth if groups is None else without_means(depth[:, None], groups)[:, 0]
        used, estimable = _independent(self._x, columns)
        self._x = self._x[:, used]
        names = [*ones, *features]
        self._names = {i: names[column] for i, column in enumerate(used) if estimable[column]}
        self._undefined = [name for name in names if name not in self._names.values()]

    @cached_property
    def coefficients(self) -> dict[str, Estimate]:
        """The coefficients by feature: depth for one more of it; those that the tokens do not determine say so."""
        out = {name: Estimate(None, reason=_REASON) for name in self._undefined}
        if not self._names:
            return out
        clusters = {"groups": self._instance, "df_correction": True}
        fit = OLS(self._y, self._x).fit(cov_type="cluster", cov_kwds=clusters, use_t=True)
        low, high = fit.conf_int(1 - LEVEL).T
        values = {name: (float(fit.params[i]), float(low[i]), float(high[i])) for i, name in self._names.items()}
        return out | {name: Estimate(*one) for name, one in values.items()}

    @cached_property
    def r2(self) -> float:
        """The share of the variance of depth that features and groups explain."""
        left = self._y - self._x @ np.linalg.lstsq(self._x, self._y, rcond=None)[0]
        return float(np.clip(1 - (left @ left) / self._spread, 0, 1))

    def mapping(self) -> dict[str, Floats]:
        """Return for each feature that is determined the weights of tokens by which its coefficient is a sum."""
        rows = np.linalg.pinv(self._x)
        return {name: rows[i] for i, name in self._names.items()}


def shuffled_coefficients(
    fits: Sequence[LinearFit], depth: Floats, instance: Ints, *, rng: np.random.Generator
) -> list[dict[str, Null | None]]:
    """Return the null of every coefficient of every fit, with depth shuffled within instances."""
    maps = [fit.mapping() for fit in fits]
    places = [(which, name) for which, weights in enumerate(maps) for name in weights]
    if not places:
        return [{} for _ in fits]
    rows = np.stack([maps[which][name] for which, name in places])
    values = np.stack([rows @ depth[order] for order in orders_within(instance, rng=rng)], axis=1)
    nulls: list[dict[str, Null | None]] = [{} for _ in fits]
    for (which, name), shuffled in zip(places, values, strict=True):
        nulls[which][name] = Null.of(shuffled)
    return nulls


def explained_by_means(depth: Floats, groups: Ints) -> float:
    """Return R2 of the means by group.

    >>> explained_by_means(np.array([1.0, 3.0, 5.0, 7.0]), np.array([0, 0, 1, 1]))
    0.8
    """
    left = without_means(depth[:, None], groups)[:, 0]
    return float(1 - (left @ left) / (depth.var() * len(depth)))


def without_means(columns: Floats, groups: Ints) -> Floats:
    """Return columns less their mean in each row's group."""
    _, index, counts = np.unique(groups, return_inverse=True, return_counts=True)
    sums = np.stack([np.bincount(index, weights=column) for column in columns.T], axis=1)
    left: Floats = columns - (sums / counts[:, None])[index]
    return left


def _independent(x: Floats, before: Floats) -> tuple[Ints, Ints]:
    """Return columns that span the same space as all of them, and which of all are determined by no others.

    A column that takes part in no dependence is in every such choice, and has the same coefficient in each. `before`
    is `x` before means were taken off: what they have left of a column may be rounding.
    """
    length, whole = np.sqrt((x**2).sum(0)), np.sqrt((before**2).sum(0))
    unit = np.where(length > _DEPENDENT * whole, x / np.where(length > 0, length, 1), 0)
    values, vectors = np.linalg.eigh(unit.T @ unit)
    estimable = (np.abs(vectors[:, values < _DEPENDENT]) < np.sqrt(_DEPENDENT)).all(axis=1)
    order = qr(unit, mode="r", pivoting=True)[1]
    return np.sort(order[: int((values >= _DEPENDENT).sum())]), estimable
