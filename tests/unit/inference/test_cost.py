"""The count of FLOPs against what is really multiplied, and of slots against what the cache really holds."""

import pytest
import torch
from tests.models_support import POLICIES, random_ids, random_model, small_config, spread_case
from torch.utils.flop_counter import FlopCounterMode

from anira.inference import Cost, Stepwise, attention_flops, forward_cost, layer_flops

LINEAR = ("mm", "addmm", "bmm")  # what linear maps become; attention is counted by itself


def multiplied(call):
    """The FLOPs of all linear maps that a call really runs."""
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        call()
    return sum(count for op, count in counter.get_flop_counts()["Global"].items() if str(op).split(".")[-1] in LINEAR)


def attended(config, executed):
    """The FLOPs of attention, token by token: scores and sums over the keys up to its own, in every layer it runs."""
    each = 2 * 2 * config.num_attention_heads * config.head_dim
    outer = config.num_prelude_layers + config.num_coda_layers
    return sum(
        each * (position + 1) * (outer + config.num_core_layers * runs)
        for row in executed.tolist()
        for position, runs in enumerate(row)
    )


SHAPES = [
    {},
    {"num_core_layers": 2},
    {"num_prelude_layers": 2, "num_coda_layers": 3},
    {"num_attention_heads": 4, "num_key_value_heads": 2},
    {"injection": "concat-linear"},
    {"injection": "add", "initial_state": "zero"},
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("policy", ["fixed", "anira-e", "anira-o"])
def test_full_depth_costs_what_the_parallel_graph_multiplies(policy, shape):
    config = small_config(policy, **shape)
    model, ids = random_model(config), random_ids(2, 6)
    # At threshold 1 everybody runs to the end, and the halting decider is asked after every iteration but the last.
    settings = {} if policy == "fixed" else {"threshold": 1.0}
    executed = torch.full_like(ids, config.max_depth)
    cost = forward_cost(config, model.policy, executed)
    assert cost.flops - attended(config, executed) == multiplied(lambda: model(ids, **settings))
    assert cost.tokens == 12
    assert cost.mean_depth == config.max_depth


def test_an_unshared_core_and_a_shared_one_cost_the_same():
    config = small_config("fixed", shared_core=False)
    model, ids = random_model(config), random_ids(1, 5)
    executed = torch.full_like(ids, config.max_depth)
    cost = forward_cost(config, model.policy, executed)
    assert cost.flops - attended(config, executed) == multiplied(lambda: model(ids))
    assert cost == forward_cost(small_config("fixed"), model.policy, executed)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("policy", ["fixed", "anira-e", "anira-o"])
def test_decoding_costs_what_it_multiplies_and_no_more(policy, shape):
    """Token by token, with tokens that exit early: what is skipped is not multiplied, and not counted."""
    case = spread_case(small_config(policy, **shape), batch=1, time=8)
    session = Stepwise(case.model)

    def decode():
        for token in case.ids[0]:
            session.feed(token.view(1, 1))

    counted = multiplied(decode)
    executed = case.parallel().executed
    assert session.cost() == forward_cost(case.model.config, case.model.policy, executed)
    assert session.cost().flops - attended(case.model.config, executed) == counted
    if policy != "fixed":
        full = forward_cost(case.model.config, case.model.policy, torch.full_like(executed, 5))
        assert session.cost().core_flops < full.core_flops


@pytest.mark.parametrize("core_layers", [1, 2])
@pytest.mark.parametrize("policy", ["fixed", "anira-e", "anira-o", "similarity"])
def test_slots_are_those_of_the_cache(policy, core_layers):
    case = spread_case(small_config(policy, num_core_layers=core_layers), batch=2, time=9)
    session = Stepwise(case.model)
    session.feed(case.ids[:, :6])
    session.feed(case.ids[:, 6:])
    assert session.cost().kv_slots == session.cache.num_slots


def test_by_hand():
    """One layer each, width 16 in 2 heads of 8, inner width 24, 20 words."""
    config = small_config("fixed")
    assert layer_flops(config) == 2 * (4 * 16 * 16 + 3 * 16 * 24)
    assert attention_flops(config, 7) == 2 * (7 * 16 + 7 * 16)
    model = random_model(config)
    cost = forward_cost(config, model.policy, torch.tensor([[2, 5]]))
    layer, key, head = layer_flops(config), attention_flops(config, 1), 2 * 16 * 20
    early = 2 * 2 * 16 * 16  # the first token leaves before iteration 5 and writes keys and values of its exit state
    assert cost == Cost(
        tokens=2,
        iterations=7,
        decisions=0,
        core_flops=2 * (layer + key) + 5 * (layer + 2 * key) + early,
        decision_flops=0,
        other_flops=2 * (layer + key) + 2 * (layer + 2 * key) + 2 * head,
        kv_slots=7 + 1,
    )


@pytest.mark.parametrize("policy", POLICIES)
def test_costs_of_rows_add_up_and_padding_is_free(policy):
    case = spread_case(small_config(policy), batch=3, time=9, padded=True)
    executed = case.parallel().executed
    model = case.model
    whole = forward_cost(model.config, model.policy, executed, valid=case.valid)
    rows = [forward_cost(model.config, model.policy, case.row(i).parallel().executed) for i in range(3)]
    assert whole == rows[0] + rows[1] + rows[2]


def test_a_smaller_offer_needs_no_slot_for_an_exit_that_nobody_reads():
    config = small_config("fixed")
    model = random_model(config)
    executed = torch.full((1, 4), 2)
    assert forward_cost(config, model.policy, executed, max_depth=2).kv_slots == 8
    assert forward_cost(config, model.policy, executed).kv_slots == 12
