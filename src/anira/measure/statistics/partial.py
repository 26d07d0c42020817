"""Rank correlations of probe and depth with something else held fixed, as functions of instance weights."""

import numpy as np

from anira.measure.statistics.association import NUM_CLASSES, Spearman, midranks, standardised, why_undefined
from anira.measure.statistics.estimates import Floats, Ints
from anira.measure.statistics.within import Pairs, pooled

_FLAT = 1e-12  # a share of the variance of the ranks below this is rounding


class GivenPosition:
    """Two values: the rank correlation of probe and depth, and the one that is left when the position is held fixed.

    The second is (r_xy - r_xz r_yz) / sqrt((1 - r_xz^2) (1 - r_yz^2)): the correlation of what a linear fit on the
    ranks of the position leaves of the ranks of both. Ranks are recomputed in every resample, as in Spearman.
    """

    def __init__(self, pairs: Pairs, position: Floats, num_instances: int) -> None:
        self._xy = pooled(pairs, num_instances)
        self._xz, self._yz = (
            Spearman(values, position, pairs.instance, num_instances, names=(name, "position"), classes=NUM_CLASSES)
            for values, name in ((pairs.x, "probe"), (pairs.y, "depth"))
        )
        reasons = (self._xy.undefined, self._xz.undefined, self._yz.undefined)
        self.undefined = next(filter(None, reasons), "the position determines the probe or the depth")

    def __call__(self, weights: Floats) -> Floats:
        """Return both correlations in every resample."""
        xy, xz, yz = self._xy(weights), self._xz(weights), self._yz(weights)
        with np.errstate(invalid="ignore", divide="ignore"):
            partial = (xy - xz * yz) / np.sqrt((1 - xz**2) * (1 - yz**2))
        return np.concatenate([xy, np.where(np.isfinite(partial), partial, np.nan)])


class GivenGroup:
    """The correlation of the ranks of probe and depth, each less its mean in the token's group.

    What is left is how the two go together among tokens of the same group. Ranks are taken once, over all tokens, and
    kept in the resamples; the means of the groups are recomputed there. An instance is a few sums by group.
    """

    def __init__(self, pairs: Pairs, group: Ints, num_instances: int) -> None:
        self.undefined = why_undefined(pairs.x, pairs.y, ("probe", "depth")) or "constant in every group"
        x, y = (standardised(midranks(values)) for values in (pairs.x, pairs.y))
        self._groups, index = np.unique(group, return_inverse=True)
        size = len(self._groups)
        cell = pairs.instance * size + index

        def sums(values: Floats) -> Floats:
            """Add up by group and instance: (groups, instances)."""
            flat: Floats = np.bincount(cell, weights=values, minlength=num_instances * size).astype(np.float64)
            return flat.reshape(num_instances, size).T

        self._first = np.stack([sums(np.ones(len(x))), sums(x), sums(y)])
        self._second = np.stack([sums(values).sum(0) for values in (x * x, x * y, y * y)])

    def __call__(self, weights: Floats) -> Floats:
        """Return the correlation in every resample."""
        count, x, y = self._first @ weights
        xx, xy, yy = self._second @ weights
        with np.errstate(invalid="ignore", divide="ignore"):
            of_means = [np.nan_to_num(a * b / count).sum(0) for a, b in ((x, x), (x, y), (y, y))]
            x_left, together, y_left = xx - of_means[0], xy - of_means[1], yy - of_means[2]
            correlation: Floats = together / np.sqrt(x_left * y_left)
        correlation[~((x_left > _FLAT * xx) & (y_left > _FLAT * yy))] = np.nan
        return np.atleast_2d(correlation)
