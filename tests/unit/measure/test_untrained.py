"""What untrained models have: undefined correlations are left out and never NaN."""

import numpy as np
import pytest

from anira.measure.statistics.within import Pairs
from anira.measure.untrained import untrained_ranges

RNG = np.random.default_rng(0)
PROXY = RNG.normal(size=400)
PAIRS = Pairs("ops_mul", "expected_depth", PROXY, PROXY, np.repeat(np.arange(40), 10))


def test_what_the_token_alone_makes_is_pooled_and_not_given_the_token():
    token = (PROXY > 0).astype(np.int64)
    pooled, given = untrained_ranges(PAIRS, [token + 0.1 * RNG.normal(size=400), PROXY], token)
    assert pooled.low > 0.7
    assert abs(given.low) < 0.2
    assert np.allclose([pooled.high, given.high], 1)


def test_a_constant_depth_has_no_correlation():
    group = np.zeros(400, dtype=np.int64)
    pooled, given = untrained_ranges(PAIRS, [np.ones(400), PROXY], group)
    assert pooled.low == pooled.high == pytest.approx(1)
    assert given.low == given.high == pytest.approx(1)
    assert untrained_ranges(PAIRS, [np.ones(400)], group) == (None, None)


def test_without_tokens_or_models_there_is_nothing():
    none = np.empty(0)
    empty = Pairs("ops_mul", "expected_depth", none, none, none.astype(np.int64))
    assert untrained_ranges(empty, [none], none.astype(np.int64)) == (None, None)
    assert untrained_ranges(PAIRS, [], np.zeros(400, dtype=np.int64)) == (None, None)
