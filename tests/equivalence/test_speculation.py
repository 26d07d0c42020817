"""A greedy answer with a draft of few iterations is the answer without one, token for token, in float64."""

import pytest
from tests.equivalence.test_engine import OURS, model_of
from tests.models_support import random_ids

from anira.config import UserError
from anira.models import AniraForCausalLM, DepthCache


def greedy(model: AniraForCausalLM, **options: object) -> list[int]:
    made = model.generate(random_ids(1, 6), max_new_tokens=10, do_sample=False, pad_token_id=0, **options)
    return made[0].tolist()


@pytest.mark.parametrize("policy", OURS)
def test_every_policy(policy: str) -> None:
    model = model_of(policy)
    assert greedy(model, assistant_early_exit=1) == greedy(model)


@pytest.mark.parametrize(("policy", "depth"), [("mixture-of-depths", 2), ("gates", 3), ("anira-o", 4)])
def test_other_drafts(policy: str, depth: int) -> None:
    model = model_of(policy, num_core_layers=2)
    assert greedy(model, assistant_early_exit=depth) == greedy(model)


def test_the_rule_of_the_call_is_the_one_that_verifies() -> None:
    model, rule = model_of("anira-o"), {"select": "quantile", "threshold": 0.95}
    assert greedy(model, assistant_early_exit=1, **rule) == greedy(model, **rule) != greedy(model)


def test_a_draft_runs_few_iterations_and_the_model_verifies_several_tokens_at_once() -> None:
    model, calls = model_of("fixed"), []

    def note(module: AniraForCausalLM, args: tuple, kwargs: dict) -> None:
        calls.append((kwargs["input_ids"].shape[1], kwargs.get("exit_depth")))

    with model.register_forward_pre_hook(note, with_kwargs=True):
        greedy(model, assistant_early_exit=2)
    assert {depth for _, depth in calls} == {2, None}
    assert any(size > 1 for size, depth in calls[2:] if depth is None)


def test_what_is_no_draft_or_not_exact_is_refused() -> None:
    model = model_of("anira-o")
    with pytest.raises(UserError, match="between 1 and 4, not 5"):
        greedy(model, assistant_early_exit=5)
    with pytest.raises(UserError, match="not exact with kv='overwrite'"):
        greedy(model, assistant_early_exit=1, past_key_values=DepthCache(model.config, kv="overwrite"))
