"""Stepwise decoding gives what the parallel graph gives."""

import pytest
import torch
from tests.models_support import POLICIES, TOLERANCE, small_config, spread_case

from anira.inference import Stepwise

RULES = [{}, {"select": "mean"}, {"select": "mode"}, {"threshold": 0.8}, {"max_depth": 3}]


@pytest.mark.parametrize("sizes", [[1] * 10, [6, 1, 1, 2], [10]], ids=str)
@pytest.mark.parametrize("policy", POLICIES)
def test_fed_tokens_get_the_depths_and_logits_of_the_parallel_graph(policy, sizes):
    case = spread_case(small_config(policy), batch=2, time=10)
    expected = case.parallel()
    session, start = Stepwise(case.model), 0
    for size in sizes:
        stop = start + size
        step = session.feed(case.ids[:, start:stop])
        assert step.exit_depth.tolist() == expected.exit_depth[:, start:stop].tolist()
        assert step.executed.tolist() == expected.executed[:, start:stop].tolist()
        torch.testing.assert_close(step.logits, expected.logits[:, stop - 1], rtol=0, atol=TOLERANCE)
        if expected.exit_log_probs is not None:
            probs = expected.exit_log_probs[:, start:stop]
            torch.testing.assert_close(step.exit_log_probs, probs, rtol=0, atol=TOLERANCE)
        start = stop
    assert session.cost().tokens == 20
    assert session.cost().iterations == expected.executed.sum()


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("policy", ["anira-e", "anira-o"])
def test_so_do_they_under_every_rule(policy, rule):
    case = spread_case(small_config(policy), batch=2, time=10, settings=rule)
    expected = case.parallel()
    session = Stepwise(case.model, **rule)
    depths = torch.cat([session.feed(case.ids[:, :4]).exit_depth, session.feed(case.ids[:, 4:]).exit_depth], dim=1)
    assert depths.tolist() == expected.exit_depth.tolist()
    assert session.cost().iterations == expected.executed.sum()


def test_nothing_keeps_a_gradient():
    case = spread_case(small_config("anira-o"), batch=1, time=4)
    assert not Stepwise(case.model).feed(case.ids).logits.requires_grad
