"""Rank correlations within instances: tokens of one instance against each other, and what shuffling leaves of them."""

from dataclasses import dataclass

import numpy as np

from anira.measure.statistics.association import NUM_CLASSES, Mean, Spearman, midranks, standardised
from anira.measure.statistics.estimates import Floats, Ints
from anira.measure.statistics.nulls import NULL_DRAWS, Null, orders_within


@dataclass(frozen=True)
class Pairs:
    """The tokens where one probe is defined, in the order of their instances."""

    probe: str
    measure: str
    x: Floats
    y: Floats
    instance: Ints


def pooled(pair: Pairs, num_instances: int) -> Spearman:
    """Return the rank correlation over all tokens, as a function of instance weights."""
    return Spearman(pair.x, pair.y, pair.instance, num_instances, names=("probe", "depth"), classes=NUM_CLASSES)


def within_instances(pair: Pairs, num_instances: int) -> Floats:
    """Return the rank correlation within each instance, NaN where it has none."""
    products = standardised_within(pair.x, pair.instance) * standardised_within(pair.y, pair.instance)
    sums: Floats = np.bincount(pair.instance, weights=products, minlength=num_instances).astype(np.float64)
    sums[np.bincount(pair.instance, minlength=num_instances) == 0] = np.nan
    return sums


def mean_of_defined(values: Floats) -> Mean:
    """Return the mean over the instances that have a correlation, as a function of instance weights."""
    defined = ~np.isnan(values)
    reason = "in every instance the probe or the depth is constant"
    return Mean(np.nan_to_num(values), defined, undefined=reason)


def standardised_within(values: Floats, instance: Ints) -> Floats:
    """Return ranks within each instance with mean 0 and length 1 there; NaN where all its values are the same.

    The correlation within an instance is then the sum of products over its tokens. `instance` is ascending.
    """
    order = np.lexsort((values, instance))
    new = (np.diff(values[order], prepend=np.nan) != 0) | (np.diff(instance[order], prepend=-1) != 0)
    ranks = np.empty(len(values))
    ranks[order] = midranks(np.cumsum(new).astype(np.float64))
    # Ranks of an instance start somewhere, but are centred now. Halves add up exactly, so a constant gives exactly 0.
    with np.errstate(invalid="ignore", divide="ignore"):
        ranks -= (np.bincount(instance, weights=ranks) / np.bincount(instance))[instance]
        scaled: Floats = ranks / np.sqrt(np.bincount(instance, weights=ranks**2))[instance]
    return scaled


def shuffled_nulls(pairs: list[Pairs], rng: np.random.Generator) -> list[tuple[Null | None, Null | None]]:
    """Return the nulls of every pair; pairs over the same tokens are shuffled together, since shuffling costs most."""
    nulls: dict[int, tuple[Null | None, Null | None]] = {}
    groups: dict[bytes, list[int]] = {}
    for i, pair in enumerate(pairs):
        groups.setdefault(pair.instance.tobytes(), []).append(i)
    for members in groups.values():
        shuffled = _shuffled([pairs[i] for i in members], rng)
        nulls |= {i: (Null.of(pooled), Null.of(within)) for i, (pooled, within) in zip(members, shuffled, strict=True)}
    return [nulls[i] for i in range(len(pairs))]


def _shuffled(pairs: list[Pairs], rng: np.random.Generator) -> list[Floats]:
    """Return for each pair the pooled and the within correlation (2, draws) with depth shuffled within instances."""
    ranks = [_both_ranks(pair) for pair in pairs]
    values = np.empty((len(pairs), 2, NULL_DRAWS))
    for draw, order in enumerate(orders_within(pairs[0].instance, rng=rng)):
        for i, (x_pooled, y_pooled, x_within, y_within) in enumerate(ranks):
            values[i, :, draw] = x_pooled @ y_pooled[order], x_within @ y_within[order]
    return list(values)


def _both_ranks(pair: Pairs) -> tuple[Floats, Floats, Floats, Floats]:
    """Return standardised ranks of probe and depth, pooled and within; the within ones add up to a mean.

    Instances in which either is constant count for nothing.
    """
    x, y = standardised_within(pair.x, pair.instance), standardised_within(pair.y, pair.instance)
    defined = ~(np.isnan(x) | np.isnan(y))
    count = len(np.unique(pair.instance[defined]))
    x = np.where(defined, x, 0.0) / count if count else np.full(len(x), np.nan)
    return standardised(midranks(pair.x)), standardised(midranks(pair.y)), x, np.where(defined, y, 0.0)
