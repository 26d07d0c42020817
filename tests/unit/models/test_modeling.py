import math
from typing import Any

import pytest
import torch
from tests.models_support import Case, assert_same, random_ids, random_model, small_config, spread_case
from torch import nn

from anira.config import UserError
from anira.models import AniraConfig, AniraForCausalLM, DepthCache

IDS = random_ids(2, 6)
TWICE = torch.cat([IDS, IDS], dim=1)

BAD_CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("anira-e", {"labels": IDS, "use_cache": True}, "leave out the cache"),
    ("anira-e", {"select": "medain"}, "policy 'anira-e' has no rule 'medain': did you mean 'median'"),
    ("anira-o", {"select": "mode", "threshold": 0.5}, "rule 'mode' of policy 'anira-o' takes no threshold"),
    ("anira-o", {"select": "quantile"}, "rule 'quantile' of policy 'anira-o' needs a threshold"),
    ("anira-o", {"threshold": 1.5}, "must lie in .0, 1., not 1.5"),
    ("anira-e", {"max_depth": 6}, "max_depth 6 is beyond the model's 5, which policy 'anira-e' cannot do"),
    ("gates", {"max_depth": 6}, "which policy 'gates' cannot do"),
    ("anira-o", {"max_depth": 0}, "max_depth must be at least 1, not 0"),
    ("fixed", {"attention_mask": torch.ones(2, 5)}, r"must have 2 rows and cover all 6 columns, not \(2, 5\)"),
    ("fixed", {"attention_mask": torch.ones(1, 6)}, r"must have 2 rows and cover all 6 columns, not \(1, 6\)"),
    ("fixed", {"attention_mask": torch.ones(2, 1, 6, 6)}, "one of 4 axes is not supported"),
    ("gates", {"exits": "virtual"}, "skips single iterations: it has no exits that could be virtual"),
    ("fixed", {"exits": "unreal"}, "exits are real or virtual, not 'unreal'"),
    ("fixed", {"output_attentions": True}, "output_attentions is not supported"),
    ("fixed", {"inputs_embeds": torch.zeros(2, 6, 16)}, "give input_ids or inputs_embeds, and not both"),
]


@pytest.mark.parametrize(("policy", "arguments", "message"), BAD_CALLS)
def test_bad_calls_say_what_to_change(policy: str, arguments: dict[str, Any], message: str) -> None:
    model = random_model(small_config(policy))
    with pytest.raises(UserError, match=message):
        model(IDS, **arguments)


NONSENSE = [
    ("anira-e", {"exit_depth": 0}),
    ("anira-e", {"exit_depth": 9}),
    ("fixed", {"select": "medain"}),
    ("anira-e", {"noise": torch.full((2, 6, 1), 0.5)}),
    ("fixed", {"labels": IDS, "logits_to_keep": 2}),
]


@pytest.mark.parametrize(("policy", "arguments"), NONSENSE)
def test_nonsense_is_refused(policy: str, arguments: dict[str, Any]) -> None:
    model = random_model(small_config(policy))
    with pytest.raises(UserError):
        model(IDS, **arguments)


def test_what_an_unshared_core_cannot_do() -> None:
    model = random_model(small_config("fixed", shared_core=False))
    with pytest.raises(UserError, match="beyond the model's 5, which an unshared core cannot do"):
        model(IDS, max_depth=6)
    with pytest.raises(UserError, match="exit_depth with freeze='kv' needs a shared core"):
        random_model(small_config("fixed", shared_core=False, freeze="kv"))(IDS, exit_depth=3)


def test_with_a_cache_the_mask_covers_earlier_columns_too() -> None:
    model = random_model(small_config("anira-e"))
    cache = model(IDS, use_cache=True).past_key_values
    with pytest.raises(UserError, match="must have 2 rows and cover all 12 columns"):
        model(IDS, torch.ones(2, 6), past_key_values=cache)


@pytest.mark.parametrize(
    "mistake",
    [{"max_depth": 0}, {"attention_mask": torch.ones(2, 5)}, {"select": "medain"}],
)
def test_a_refused_call_leaves_the_cache_as_it_was(mistake: dict[str, Any]) -> None:
    model = random_model(small_config("anira-o"))
    cache = DepthCache(model.config)
    model(IDS, past_key_values=cache)
    with pytest.raises(UserError):
        model(IDS, past_key_values=cache, **mistake)
    out = model(IDS, past_key_values=cache)
    torch.testing.assert_close(out.logits, model(TWICE).logits[:, 6:], rtol=0, atol=1e-9)


@pytest.mark.parametrize("keep", [1, 3])
@pytest.mark.parametrize("use_cache", [False, True])
def test_logits_of_the_last_positions(keep: int, use_cache: bool) -> None:
    model = random_model(small_config("anira-o"))
    all_of_them = model(IDS).logits
    kept = model(IDS, logits_to_keep=keep, use_cache=use_cache)
    torch.testing.assert_close(kept.logits, all_of_them[:, -keep:], rtol=0, atol=1e-9)
    assert kept.exit_depth.shape == IDS.shape


def test_a_cache_is_used_when_given_and_when_asked_for() -> None:
    model = random_model(small_config("anira-e"))
    assert model(IDS).past_key_values is None
    assert model(IDS, use_cache=True).past_key_values.get_seq_length() == 6
    cache = DepthCache(model.config)
    assert model(IDS, past_key_values=cache).past_key_values is cache
    model(IDS, past_key_values=cache, use_cache=False)  # as in stock models: a given past is used, and added to
    assert cache.get_seq_length() == 12


def test_iteration_states_are_those_before_and_after_every_iteration() -> None:
    case = spread_case(small_config("anira-e", num_coda_layers=0))
    out = case.parallel(output_iteration_states=True)
    states = out.iteration_states
    assert len(states) == 6
    for depth in range(1, 6):
        changed = (states[depth] != states[depth - 1]).any(-1)
        assert torch.equal(changed, out.exit_depth >= depth)
    logits = case.model.lm_head(case.model.model.norm(states[-1]))
    torch.testing.assert_close(logits, out.logits, rtol=0, atol=1e-12)
    assert case.parallel().iteration_states is None


@pytest.mark.parametrize("policy", ["anira-e", "anira-o", "gates"])
@pytest.mark.parametrize("padded", [False, True])
def test_states_are_the_same_with_a_cache(policy: str, padded: bool) -> None:
    case = spread_case(small_config(policy), padded=padded)
    asked = {"output_iteration_states": True, "output_hidden_states": True}
    whole, cached = (case.parallel(**asked, use_cache=use) for use in (False, True))
    for name in ("iteration_states", "hidden_states"):
        for one, other in zip(getattr(whole, name), getattr(cached, name), strict=True):
            torch.testing.assert_close(one[case.valid], other[case.valid], rtol=0, atol=1e-9)


def test_positions_may_be_given() -> None:
    model = random_model(small_config("anira-o", injection="add", initial_state="random"))
    by_default, given = model(IDS), model(IDS, position_ids=torch.arange(6)[None])
    shifted = model(IDS, position_ids=torch.arange(3, 9)[None])
    assert torch.equal(by_default.logits, given.logits)
    assert not torch.allclose(by_default.logits, shifted.logits)  # the initial state is keyed by position


@pytest.mark.parametrize("policy", ["anira-e", "anira-o"])
def test_a_forced_depth_may_be_one_number_or_one_a_token(policy: str) -> None:
    model = random_model(small_config(policy))
    one, many = model(IDS, exit_depth=3), model(IDS, exit_depth=torch.full_like(IDS, 3))
    assert torch.equal(one.logits, many.logits)
    assert (one.executed == 3).all()


def test_an_own_choice_forced_again_changes_nothing() -> None:
    case = spread_case(small_config("anira-o"))
    free = case.parallel()
    forced = Case(case.model, case.ids, per_token={"exit_depth": free.exit_depth}).parallel()
    assert torch.equal(free.logits, forced.logits)


def test_one_row_equals_the_same_row_in_a_batch() -> None:
    case = spread_case(small_config("anira-o"), batch=4)
    whole = case.parallel()
    for i in range(4):
        row = (torch.arange(4) == i)[:, None].expand_as(case.ids)
        alone = Case(case.model, case.ids[i : i + 1]).parallel()
        assert_same(alone, type(whole)(**{k: v[row][None] for k, v in whole.items() if isinstance(v, torch.Tensor)}))


def count(module: nn.Module) -> float:
    return sum(parameter.numel() for parameter in module.parameters()) / 1e6


# Sizes of the paper's models in millions: all, each of prelude, core and coda, and the decider (there rounded down).
PAPER = [
    ({"hidden_size": 512, "intermediate_size": 2048, "max_depth": 6, "vocab_size": 35}, 13.7, 4.2, 1.0),
    ({"hidden_size": 256, "intermediate_size": 1664, "max_depth": 14, "vocab_size": 30}, 5.1, 1.5, 0.4),
]


@pytest.mark.parametrize(("sizes", "total", "part", "decider"), PAPER)
@pytest.mark.parametrize("policy", ["anira-e", "anira-o"])
def test_parameter_counts_of_the_paper(
    policy: str, sizes: dict[str, int], total: float, part: float, decider: float
) -> None:
    model = AniraForCausalLM(AniraConfig(**sizes, policy={"name": policy}))
    assert round(count(model), 1) == total
    for name in ("prelude", "core", "coda"):
        assert round(count(getattr(model.model, name)), 1) == part
    assert math.floor(10 * count(model.policy)) / 10 == decider


def test_an_unshared_core_has_as_many_parameters_as_iterations() -> None:
    shared, unshared = (
        AniraForCausalLM(small_config("fixed", shared_core=shared, num_core_layers=2)).model.core
        for shared in (True, False)
    )
    assert count(unshared) == pytest.approx(5 * count(shared))


def test_a_tied_head_is_the_embedding() -> None:
    tied, untied = (AniraForCausalLM(small_config(tie_word_embeddings=tied)) for tied in (True, False))
    assert tied.lm_head.weight is tied.model.embed_tokens.weight
    assert count(untied) - count(tied) == pytest.approx(20 * 16 / 1e6)


@pytest.mark.parametrize("policy", ["anira-e", "anira-o"])
@pytest.mark.parametrize("cached", [False, True])
def test_exit_probs_come_when_asked_for_and_by_default_without_a_cache(policy, cached):
    model = random_model(small_config(policy))
    ids = random_ids(2, 5)
    asked, declined, default = (model(ids, use_cache=cached, output_exit_probs=wish) for wish in (True, False, None))
    assert asked.exit_log_probs.shape == (2, 5, model.config.max_depth)
    assert asked.expected_depth.shape == (2, 5)
    assert declined.exit_log_probs is None and declined.expected_depth is None
    assert (default.exit_log_probs is None) == (default.expected_depth is None) == cached
    for other in (declined, default):
        assert torch.equal(asked.exit_depth, other.exit_depth)
        assert torch.equal(asked.logits, other.logits)


def test_the_loss_has_its_exit_probs_whatever_is_asked():
    model = random_model(small_config("anira-o"))
    ids = random_ids(2, 5)
    assert torch.equal(model(ids, labels=ids, output_exit_probs=False).loss, model(ids, labels=ids).loss)
