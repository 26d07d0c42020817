"""The share of a variance that a linear fit explains (R2), as a function of instance weights (see bootstrap.py).

All that least squares needs of the tokens are sums of products of the columns. They are kept for each instance, so a
thousand resamples of 200,000 tokens are one product of matrices, and every model over these columns follows from it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from anira.measure.statistics.estimates import Floats, Ints

_FLAT = 1e-9  # of the variance of a column; what is below is rounding


class Moments:
    """Sums of products of some columns by instance, and of the columns by group: a number that instances have.

    `instance` (tokens,) counts from 0 and ascends; `group` (tokens,) is the same for all tokens of an instance.
    """

    def __init__(self, columns: Mapping[str, Floats], instance: Ints, group: Ints) -> None:
        self.index = {name: i for i, name in enumerate(columns)}
        values = np.stack([unit(column) for column in columns.values()], axis=1)
        starts = np.flatnonzero(np.diff(instance, prepend=-1))
        self._upper = np.triu_indices(len(columns))
        products = [np.add.reduceat(values[:, [i]] * values[:, i:], starts) for i in range(len(columns))]
        self._products = np.concatenate(products, axis=1).T
        ones = np.ones((len(values), 1))
        self._sums = np.add.reduceat(np.concatenate([ones, values], axis=1), starts).T
        self._groups = [np.flatnonzero(group[starts] == one) for one in np.unique(group)]

    @property
    def num_instances(self) -> int:
        """How many instances there are to weigh."""
        return int(self._products.shape[1])

    def explained(self, weights: Floats | None = None) -> "Explained":
        """Return all R2 in every resample (instances, resamples); without weights, those of the records themselves."""
        weights = np.ones((self.num_instances, 1)) if weights is None else weights
        size = len(self.index)
        products = np.empty((weights.shape[1], size, size))
        products[:, self._upper[0], self._upper[1]] = (self._products @ weights).T
        products[:, self._upper[1], self._upper[0]] = products[:, self._upper[0], self._upper[1]]
        by_group = [self._sums[:, rows] @ weights[rows] for rows in self._groups]
        return Explained(
            self.index,
            total=products - _of_means(np.sum(by_group, axis=0)),
            within=products - sum(_of_means(sums) for sums in by_group),
        )


class Explained:
    """R2 of any linear model over the columns, one number per resample."""

    def __init__(self, index: Mapping[str, int], *, total: Floats, within: Floats) -> None:
        self._index, self._total, self._within = index, total, within
        self._found: dict[tuple[str, frozenset[str], bool], Floats] = {}

    def r2(self, target: str, features: Sequence[str], *, by_group: bool = False) -> Floats:
        """Return the explained share of the target's variance; `by_group` adds a constant for every group.

        NaN where the target is constant.
        """
        key = (target, frozenset(features), by_group)
        if key not in self._found:
            self._found[key] = self._r2(target, features, by_group)
        return self._found[key]

    def _r2(self, target: str, features: Sequence[str], by_group: bool) -> Floats:
        moments = self._within if by_group else self._total
        y, x = self._index[target], [self._index[name] for name in features]
        left = moments[:, y, y]
        if x:
            # A column that depends on others adds nothing: its share of the pseudo-inverse is zero.
            inverse = np.linalg.pinv(moments[:, x][:, :, x], rcond=_FLAT, hermitian=True)
            left = left - np.einsum("ri,rij,rj->r", moments[:, x, y], inverse, moments[:, x, y])
        total = self._total[:, y, y]
        with np.errstate(invalid="ignore", divide="ignore"):
            share: Floats = 1 - left / total
        return np.where(total > _FLAT, np.clip(share, 0, 1), np.nan)

    def added(self, target: str, features: Sequence[str], more: Sequence[str], *, by_group: bool = False) -> Floats:
        """Return the R2 that `more` adds to `features`."""
        both = self.r2(target, [*features, *more], by_group=by_group)
        return both - self.r2(target, features, by_group=by_group)

    def correlation(self, one: str, other: str) -> float:
        """Return Pearson's coefficient on the first resample, NaN where one of them is constant."""
        i, j = self._index[one], self._index[other]
        scale = self._total[0, i, i] * self._total[0, j, j]
        return float(self._total[0, i, j] / np.sqrt(scale)) if scale > _FLAT else float("nan")


class Shares:
    """Values made of R2, as a statistic for `bootstrap`: all of them see the same moments."""

    def __init__(self, moments: Moments, values: Sequence[Callable[[Explained], Floats]], *, undefined: str) -> None:
        self._moments, self._values, self.undefined = moments, values, undefined

    def __call__(self, weights: Floats) -> Floats:
        """Return every value in every resample."""
        explained = self._moments.explained(weights)
        return np.stack([value(explained) for value in self._values])


def shuffled_r2(
    columns: Mapping[str, Floats], target: Floats, models: Iterable[Sequence[str]], orders: Iterable[Ints]
) -> list[Floats]:
    """Return R2 of each model, a choice of columns, with the target in each of some orders; all have mean 0."""
    names, rows = list(columns), np.stack(list(columns.values()))
    products, along = rows @ rows.T, np.stack([rows @ target[order] for order in orders])
    found = []
    for model in models:
        chosen = [names.index(name) for name in model]
        inverse = np.linalg.pinv(products[np.ix_(chosen, chosen)], rcond=_FLAT, hermitian=True)
        with np.errstate(invalid="ignore"):
            found.append(np.einsum("ri,ij,rj->r", along[:, chosen], inverse, along[:, chosen]) / (target @ target))
    return found


def unit(column: Floats) -> Floats:
    """Scale a column to mean 0 and variance 1, a constant one to 0, so that sums of products lose no digits."""
    if np.ptp(column) == 0:
        return np.zeros(len(column))
    scaled: Floats = (column - column.mean()) / column.std()
    return scaled


def _of_means(sums: Floats) -> Floats:
    """Return the products that the means make (resamples, columns, columns), from the number of tokens and the sums."""
    count, totals = sums[0], sums[1:]
    scaled = totals / np.sqrt(np.maximum(count, 1))
    products: Floats = np.einsum("ir,jr->rij", scaled, scaled)
    return products
