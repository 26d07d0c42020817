"""Why an exit writes one more slot: the paper's cache rule, read literally, does not reproduce its training graph.

"Keys and values at depth min(d, d*)" are those that iteration d* computed, from its *input* state h(d* - 1). The
passthrough graph (freeze = "state") shows iteration d > d* the keys and values of the *exit* state h(d*). The literal
rule is what a cache does under freeze = "kv", so a twin with that setting and the same weights decodes by it.
"""

from dataclasses import replace

import pytest
import torch
from tests.models_support import Case, assert_same, random_model, small_config, spread_case

from anira.models import AniraConfig, AniraOutput

every_policy = pytest.mark.parametrize("policy", ["anira-e", "anira-o", "similarity"])


def state_frozen_case(policy: str) -> Case:
    case = spread_case(small_config(policy))
    assert case.model.config.freeze == "state"
    return case


def literally_decoded(case: Case) -> AniraOutput:
    twin = random_model(AniraConfig.from_dict({**case.model.config.to_dict(), "freeze": "kv"}))
    twin.load_state_dict(case.model.state_dict())
    return replace(case, model=twin).one_by_one()


@every_policy
@pytest.mark.xfail(strict=True, raises=AssertionError, reason="the literal rule is one state stale")
def test_the_literal_rule_reproduces_the_training_graph(policy: str) -> None:
    case = state_frozen_case(policy)
    assert_same(case.parallel(), literally_decoded(case))


@every_policy
def test_the_literal_rule_is_far_off_and_saves_one_slot_for_each_early_exit(policy: str) -> None:
    case = state_frozen_case(policy)
    literal, exact = literally_decoded(case), case.one_by_one()
    assert (literal.logits - case.parallel().logits).abs().max() > 1e-2
    assert literal.past_key_values.num_slots == literal.executed.sum()
    assert exact.past_key_values.num_slots == exact.executed.sum() + (exact.executed < 5).sum()


@every_policy
def test_nothing_is_stale_if_nobody_exits_early(policy: str) -> None:
    case = state_frozen_case(policy)
    case.per_token["exit_depth"] = torch.full_like(case.ids, 5)
    assert_same(case.parallel(), literally_decoded(case))
