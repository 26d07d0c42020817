"""What every exit policy from the literature must hold: one function in all executions, forced depths, slots, costs."""

from typing import Any

import torch
from tests.models_support import VOCAB, Case, assert_same, random_ids, random_model, spread_case
from torch import Tensor

from anira.inference.cost import forward_cost
from anira.models import AniraConfig, AniraForCausalLM, AniraOutput
from anira.models.policies import Context

WIDTH, DEPTH = 16, 5


def config_of(policy: dict[str, Any], **changes: Any) -> AniraConfig:
    sizes = {"vocab_size": VOCAB, "hidden_size": WIDTH, "intermediate_size": 24, "num_attention_heads": 2}
    return AniraConfig(**{**sizes, "max_depth": DEPTH, "policy": policy, **changes})


def case_of(policy: dict[str, Any], settings: dict[str, Any] | None = None, **changes: Any) -> Case:
    return spread_case(config_of(policy, **changes), batch=3, time=8, padded=True, settings=settings)


def assert_all_ways_agree(case: Case) -> AniraOutput:
    whole = case.parallel()
    ways = [case.one_by_one(), case.in_chunks(), case.cached([case.ids.shape[1]]), case.parallel(active=True)]
    for other in ways:
        assert_same(whole, other, case.valid)
    return whole


def assert_forcing_own_depths_changes_nothing(case: Case) -> None:
    out = case.parallel()
    forced = Case(case.model, case.ids, case.mask, per_token={"exit_depth": out.executed.clamp(min=1)})
    for other in (forced.parallel(), forced.one_by_one()):
        torch.testing.assert_close(other.logits[case.valid], out.logits[case.valid], rtol=0, atol=1e-9)
        assert torch.equal(other.executed, out.executed)


def assert_some_forced_depths_agree(case: Case) -> None:
    """Depths that nobody chose: the executions agree on them as well, and on one number for all."""
    depths = torch.randint(1, DEPTH + 1, case.ids.shape, generator=torch.Generator().manual_seed(3))
    assert_all_ways_agree(Case(case.model, case.ids, case.mask, per_token={"exit_depth": depths}))
    assert_same(*(Case(case.model, case.ids[:1], settings={"exit_depth": 3}).parallel(active=a) for a in (True, False)))


def assert_slots_are_those_held(case: Case) -> None:
    out = case.in_chunks()
    cost = forward_cost(
        case.model.config, case.model.policy, out.executed, valid=case.valid, ran=out.ran, hides=out.hides
    )
    assert cost.kv_slots == out.past_key_values.num_slots


def assert_decisions_are_those_made(case: Case) -> None:
    """Token by token, as many states go through the decider as are counted."""
    made = []
    hook = case.model.policy.decider.register_forward_hook(lambda _, args, out: made.append(args[0][..., 0].numel()))
    executed = case.one_by_one().executed
    hook.remove()
    assert sum(made) == case.model.policy.num_decisions(executed[case.valid], case.max_depth).sum()


def assert_exit_policy(case: Case) -> AniraOutput:
    whole = assert_all_ways_agree(case)
    assert_forcing_own_depths_changes_nothing(case)
    assert_some_forced_depths_agree(case)
    assert_slots_are_those_held(case)
    return whole


def labelled(ids: Tensor, answers: int = 4) -> Tensor:
    """Return labels with something to learn at the last tokens only."""
    return ids.masked_fill(torch.arange(ids.shape[1]) < ids.shape[1] - answers, -100)


def training_model(policy: dict[str, Any], seed: int = 0, **changes: Any) -> tuple[AniraForCausalLM, Tensor, Tensor]:
    ids = random_ids(3, 10, seed)
    return random_model(config_of(policy, **changes), seed).train(), ids, labelled(ids)


def flat_context(tokens: int, **changes: Any) -> Context:
    positions = torch.arange(tokens)
    valid = torch.ones(tokens, dtype=torch.bool)
    return Context(**{"valid": valid, "positions": positions, "rows": positions, "max_depth": DEPTH, **changes})


def normal(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
