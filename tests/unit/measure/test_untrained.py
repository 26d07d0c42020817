"""What untrained models have: undefined correlations are left out and never NaN."""

import numpy as np

from anira.measure.statistics.within import Pairs
from anira.measure.untrained import span, untrained_correlations

RNG = np.random.default_rng(0)
PROXY = RNG.normal(size=400)
PAIRS = Pairs("ops_mul", "expected_depth", PROXY, PROXY, np.repeat(np.arange(40), 10))


def test_what_the_token_alone_makes_is_pooled_and_not_given_the_token():
    token = (PROXY > 0).astype(np.int64)
    found = untrained_correlations(PAIRS, [token + 0.1 * RNG.normal(size=400), PROXY], token)
    assert found.pooled[0] > 0.7
    assert abs(found.given_input[0]) < 0.2
    assert np.allclose([found.pooled[1], found.given_input[1]], 1)


def test_a_constant_depth_has_no_correlation():
    found = untrained_correlations(PAIRS, [np.ones(400), PROXY], np.zeros(400, dtype=np.int64))
    assert found.pooled[0] is found.given_input[0] is None
    assert span(found.given_input).high == found.given_input[1]
    assert span(found.given_input[:1]) is None


def test_without_tokens_or_models_there_is_nothing():
    none = np.empty(0)
    empty = Pairs("ops_mul", "expected_depth", none, none, none.astype(np.int64))
    assert untrained_correlations(empty, [none], none.astype(np.int64)).given_input == (None,)
    assert untrained_correlations(PAIRS, [], np.zeros(400, dtype=np.int64)).pooled == ()
