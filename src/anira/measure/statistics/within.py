"""Rank correlations within instances: tokens of one instance against each other, and what shuffling leaves of them."""

from dataclasses import dataclass
from hashlib import blake2b

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
        groups.setdefault(_digest(pair.instance), []).append(i)
    for members in groups.values():
        shuffled = _shuffled([pairs[i] for i in members], rng)
        nulls |= {i: (Null.of(pooled), Null.of(within)) for i, (pooled, within) in zip(members, shuffled, strict=True)}
    return [nulls[i] for i in range(len(pairs))]


def _shuffled(pairs: list[Pairs], rng: np.random.Generator) -> list[Floats]:
    """Return for each pair the pooled and the within correlation (2, draws) with depth shuffled within instances.

    Probes share their depths and depths their probes: each is ranked once, and each depth shuffled once per draw.
    """
    instance = pairs[0].instance
    keys = [(_digest(pair.x), _digest(pair.y)) for pair in pairs]
    ranks = {
        key: _ranks(values, instance)
        for pair, own in zip(pairs, keys, strict=True)
        for key, values in zip(own, (pair.x, pair.y), strict=True)
    }
    counts = [_instances_with_both(ranks[x][1], ranks[y][1], instance) for x, y in keys]
    values = np.empty((len(pairs), 2, NULL_DRAWS))
    for draw, order in enumerate(orders_within(instance, rng=rng)):
        depths = {y: [rank[order] for rank in ranks[y]] for _, y in keys}
        for i, (x, y) in enumerate(keys):
            pooled, within = (float(one @ other) for one, other in zip(ranks[x], depths[y], strict=True))
            values[i, :, draw] = pooled, within / counts[i] if counts[i] else np.nan
    return list(values)


def _ranks(values: Floats, instance: Ints) -> tuple[Floats, Floats]:
    """Return standardised ranks, pooled and within instances; 0 within those where all values are the same."""
    return standardised(midranks(values)), np.nan_to_num(standardised_within(values, instance))


def _instances_with_both(x: Floats, y: Floats, instance: Ints) -> int:
    """Count the instances in which neither is constant."""
    vary = [np.bincount(instance, weights=np.abs(ranks)) > 0 for ranks in (x, y)]
    return int((vary[0] & vary[1]).sum())


def _digest(values: Floats | Ints) -> bytes:
    return blake2b(np.ascontiguousarray(values).data).digest()
