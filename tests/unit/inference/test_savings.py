"""Decoding at a model's own depths and at forced ones: what is compared is the same work, and only depth differs."""

import pytest
import torch
from tests.models_support import random_ids, random_model, small_config, spread_case

from anira.config import UserError
from anira.inference.savings import OWN, measure_decoding, without_decider
from anira.inference.timing import interleaved

POLICIES = ["anira-e", "anira-o"]


@pytest.mark.parametrize("policy", POLICIES)
def test_own_depths_are_those_of_the_parallel_graph_whatever_the_batch(policy):
    case = spread_case(small_config(policy), batch=4, time=9)
    executed = case.parallel().executed
    shares = torch.bincount(executed.flatten(), minlength=6)[1:] / executed.numel()
    for batch in (1, 4):
        found = measure_decoding(case.model, case.ids, batch=batch, depths=(1, 5), repeats=2)
        assert list(found) == [OWN, 1, 5]
        own = found[OWN]
        assert own.depth_shares == pytest.approx(shares.tolist())
        assert own.cost.iterations == int(executed.sum())
        assert [len(one.seconds) for one in found.values()] == [2, 2, 2]
        assert own.cost.decision_flops > 0
        assert (found[1].cost.decision_flops, found[5].cost.decision_flops) == (0, 0)
        assert [found[depth].cost.mean_depth for depth in (1, 5)] == [1, 5]


def test_bytes_go_with_depth_and_the_exit_state():
    """freeze = state: d + 1 slots for a token that exits early, D at full depth; kv: d slots."""
    ids = random_ids(2, 7)
    for core_layers, extra in ((1, 1), (2, 0)):
        model = random_model(small_config("anira-e", num_core_layers=core_layers))
        found = measure_decoding(model, ids, batch=2, depths=(1, 3, 5), repeats=1)
        full = found[5].core_bytes
        assert found[1].core_bytes / full == pytest.approx((1 + extra) / 5)
        assert found[3].core_bytes / full == pytest.approx((3 + extra) / 5)
        assert found[5].cache_bytes > full, "prelude and coda have keys and values too"


def test_without_a_decider_it_is_the_same_model_at_that_depth():
    model, ids = random_model(small_config("anira-o")), random_ids(2, 6)
    plain = without_decider(model)
    assert model.policy.name == "anira-o", "the model itself stays as it is"
    expected = model(ids, exit_depth=2).logits[:, -1]
    torch.testing.assert_close(plain(ids, max_depth=2).logits[:, -1], expected)


def test_threads_are_as_before():
    before = torch.get_num_threads()
    measure_decoding(random_model(small_config("anira-e")), random_ids(1, 2), batch=1, depths=(5,), repeats=1)
    assert torch.get_num_threads() == before


def test_a_policy_without_a_choice_is_refused():
    with pytest.raises(UserError, match="'fixed' has one depth for all tokens"):
        measure_decoding(random_model(small_config("fixed")), random_ids(1, 3), batch=1, depths=(1,), repeats=1)


def test_work_takes_turns():
    done, ticks = [], iter(range(100))
    work = {"a": lambda: done.append("a"), "b": lambda: done.append("b")}
    seconds = interleaved(work, repeats=2, clock=lambda: next(ticks))
    assert "".join(done) == "ababab", "once to warm up, then in turns"
    assert seconds == {"a": [1, 1], "b": [1, 1]}
