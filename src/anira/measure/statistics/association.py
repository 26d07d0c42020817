"""Statistics of depth as functions of instance weights (see bootstrap.py): means, slopes, rank correlations."""

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse, stats

from anira.measure.statistics.estimates import Floats, Ints

NUM_CLASSES: Final = 128
_FLAT = 1e-14  # a variance below this, in units of the squared range, is rounding


class Mean:
    """Means of token values by group, from each instance's sum and number of them; tokens count alike.

    With sums 6, 8 and counts 2, 4 the mean is 14 / 6. Instances that do not belong to a group have group -1; without
    groups there is one.
    """

    def __init__(
        self, sums: ArrayLike, counts: ArrayLike, groups: Ints | None = None, num_groups: int = 1, *, undefined: str
    ) -> None:
        self.undefined = undefined
        groups = np.zeros(len(np.asarray(sums)), dtype=np.int64) if groups is None else groups
        rows = np.flatnonzero(groups >= 0)
        shape, place = (num_groups, len(groups)), (groups[rows], rows)
        self._sums = sparse.csr_array((np.asarray(sums, dtype=np.float64)[rows], place), shape=shape)
        self._counts = sparse.csr_array((np.asarray(counts, dtype=np.float64)[rows], place), shape=shape)

    def __call__(self, weights: Floats) -> Floats:
        """Return the mean of every group in every resample."""
        with np.errstate(invalid="ignore"):
            means: Floats = (self._sums @ weights) / (self._counts @ weights)
        return means


class Slope:
    """Least-squares slope of y on x, every instance counting alike; rows where y is NaN are left out.

    Undefined where x or y is constant: a depth that never moves has no direction, not direction 0.
    """

    def __init__(self, x: Floats, y: Floats, *, names: tuple[str, str]) -> None:
        kept = ~np.isnan(y)
        self.undefined = why_undefined(x[kept], y[kept], names)
        x_unit, self._x_range = _unit(x, kept)
        y_unit, self._y_range = _unit(y, kept)
        self._moments = np.stack([kept, x_unit, y_unit, x_unit**2, x_unit * y_unit, y_unit**2])

    def __call__(self, weights: Floats) -> Floats:
        """Return the slope in every resample, from six weighted moments."""
        with np.errstate(invalid="ignore", divide="ignore"):
            moments = self._moments @ weights
            x, y, xx, xy, yy = moments[1:] / moments[0]
            x_variance, y_variance = xx - x**2, yy - y**2
            slope = (xy - x * y) / x_variance * (self._y_range / self._x_range)
        slope[~((x_variance > _FLAT) & (y_variance > _FLAT))] = np.nan
        return np.atleast_2d(slope)


class Spearman:
    """Rank correlation of x and y over rows that belong to instances, ranks recomputed in every resample.

    Rows with the same (x, y) share a cell of a table, and tables of instances add up: a resample is a weighted sum of
    tables, and ties and ranks follow from its margins. That is exact. With `classes`, a variable with more values is
    grouped into so many classes of equal size for the resamples; the value on the records themselves stays exact.
    """

    def __init__(
        self, x: Floats, y: Floats, instance: Ints, num_instances: int, *, names: tuple[str, str], classes: int = 0
    ) -> None:
        self.undefined = why_undefined(x, y, names)
        x_index, y_index = _classify(x, classes), _classify(y, classes)
        width = int(y_index.max(initial=0)) + 1
        cells, cell = np.unique(x_index * width + y_index, return_inverse=True)
        self._x, self._y = cells // width, cells % width
        self._x_margin, self._y_margin = _summing(self._x), _summing(self._y)
        shape = (len(cells), num_instances)
        self._table = sparse.csr_array((np.ones(len(x)), (cell, instance)), shape=shape)
        # The grouping moves the value a little. Moved back, only the spread of the replicates is approximate.
        ones = np.ones((num_instances, 1))
        self._shift = rank_correlation(x, y) - self._correlate(ones)[0, 0] if classes else 0.0

    def __call__(self, weights: Floats) -> Floats:
        """Return the rank correlation in every resample."""
        return self._correlate(weights) + self._shift

    def _correlate(self, weights: Floats) -> Floats:
        counts = self._table @ weights
        x_margin, y_margin = self._x_margin @ counts, self._y_margin @ counts
        x_rank, y_rank = _centred_ranks(x_margin), _centred_ranks(y_margin)
        products = _total(counts, x_rank[self._x], y_rank[self._y])
        scale = np.sqrt(_total(x_margin, x_rank, x_rank) * _total(y_margin, y_rank, y_rank))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.atleast_2d(products / scale)


def midranks(values: Floats) -> Floats:
    """Return ranks from 1, ties sharing their mean rank."""
    ranks: Floats = stats.rankdata(values)
    return ranks


def rank_correlation(x: Floats, y: Floats) -> float:
    """Return Spearman's coefficient, or NaN where x or y is constant."""
    return float(standardised(midranks(x)) @ standardised(midranks(y)))


def standardised(values: Floats) -> Floats:
    """Return values with mean 0 and length 1, so that a correlation is a product; NaN if they are all the same."""
    if not len(values) or np.ptp(values) == 0:
        return np.full(len(values), np.nan)
    centred = values - values.mean()
    scaled: Floats = centred / np.sqrt(centred @ centred)
    return scaled


def why_undefined(x: Floats, y: Floats, names: tuple[str, str]) -> str:
    """Return why no slope or correlation exists, or an empty string."""
    if len(x) < 2:
        return "fewer than two values"
    constant = [name for name, values in zip(names, (x, y), strict=True) if np.ptp(values) == 0]
    return f"the {' and the '.join(constant)} {'is' if len(constant) == 1 else 'are'} constant" if constant else ""


def _unit(values: Floats, kept: Ints) -> tuple[Floats, float]:
    """Scale kept values to mean 0 and range 1, and the others to 0, so that moments lose no digits."""
    if not kept.any() or np.ptp(values[kept]) == 0:
        return np.zeros(len(values)), 1.0
    width = float(np.ptp(values[kept]))
    return np.where(kept, (values - values[kept].mean()) / width, 0.0), width


def _classify(values: Floats, classes: int) -> Ints:
    """Return the index of each value among the distinct ones in order, or its class if there are too many."""
    distinct, index = np.unique(values, return_inverse=True)
    if not classes or len(distinct) <= classes:
        return index
    return np.unique((midranks(values) * classes / (len(values) + 1)).astype(np.int64), return_inverse=True)[1]


def _summing(index: Ints) -> Any:
    """Return the matrix that sums rows of (cells, resamples) with the same index."""
    shape = (int(index.max(initial=0)) + 1, len(index))
    return sparse.csr_array((np.ones(len(index)), (index, np.arange(len(index)))), shape=shape)


def _total(a: Floats, b: Floats, c: Floats) -> Floats:
    """Return the sum over rows of the products of three matrices, without making them."""
    total: Floats = np.einsum("ij,ij,ij->j", a, b, c)
    return total


def _centred_ranks(margin: Floats) -> Floats:
    """Return the mean rank of each value, minus the mean of all: exactly 0 where one value has every row."""
    ranks: Floats = np.cumsum(margin, axis=0) - margin / 2 - margin.sum(0) / 2
    return ranks
