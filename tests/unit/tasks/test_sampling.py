import math
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from anira.tasks.sampling import SizeLaw, draw_sizes, random_order, size_weights


def test_reference_weights_are_those_of_the_specification() -> None:
    weights = size_weights(3, 30, "reference")
    assert weights[[0, 7, 17, 27]] == pytest.approx([0.0783, 0.0429, 0.0261, 0.0187], abs=5e-5)
    assert weights @ np.arange(3, 31) == pytest.approx(13.1, abs=0.05)
    assert size_weights(3, 50, "reference")[[0, 47]] == pytest.approx([0.0554, 0.0098], abs=5e-5)


def test_weights_fall_as_one_over_n_plus_root() -> None:
    weights = size_weights(2, 9, "reference")
    assert weights[0] / weights[-1] == pytest.approx((9 + math.sqrt(9)) / (2 + math.sqrt(9)))


@pytest.mark.parametrize("law", ["reference", "uniform"])
def test_sizes_follow_their_law(law: SizeLaw) -> None:
    count = 100_000
    sizes = draw_sizes(np.random.default_rng(0), count, 3, 30, law)
    observed = np.bincount(sizes, minlength=31)[3:]
    assert observed.sum() == count
    assert stats.chisquare(observed, count * size_weights(3, 30, law)).pvalue > 1e-3
    other: SizeLaw = "uniform" if law == "reference" else "reference"
    assert stats.chisquare(observed, count * size_weights(3, 30, other)).pvalue < 1e-9


def test_a_single_size() -> None:
    assert set(draw_sizes(np.random.default_rng(0), 100, 7, 7, "reference").tolist()) == {7}


@settings(deadline=None)
@given(limits=st.lists(st.integers(0, 12), min_size=1, max_size=20), extra=st.integers(0, 5), seed=st.integers(0, 99))
def test_random_order_permutes_below_the_limit(limits: list[int], extra: int, seed: int) -> None:
    width = max(limits) + extra
    order = random_order(np.random.default_rng(seed), np.array(limits), width)
    assert order.shape == (len(limits), width)
    for row, limit in zip(order.tolist(), limits, strict=True):
        assert sorted(row[:limit]) == list(range(limit))
        assert row[limit:] == list(range(limit, width))


def test_all_permutations_are_equally_likely() -> None:
    order = random_order(np.random.default_rng(0), np.full(24_000, 4), 6)[:, :4]
    found = Counter(map(tuple, order.tolist()))
    assert set(found) == set(permutations(range(4)))
    assert stats.chisquare(list(found.values())).pvalue > 1e-3
