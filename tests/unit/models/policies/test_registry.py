import pytest
from tests.equivalence.outside_policy import Gates, Similarity
from tests.models_support import small_config

from anira.config import UserError
from anira.models import AniraForCausalLM, register_policy
from anira.models.policies import AniraE, AniraO, Fixed, policy_class, resolve_policy


def test_policies_are_known_by_name() -> None:
    known = [policy_class(name) for name in ("anira-e", "anira-o", "fixed", "similarity", "gates")]
    assert known == [AniraE, AniraO, Fixed, Similarity, Gates]


def test_an_unknown_policy_may_only_want_to_be_imported() -> None:
    with pytest.raises(UserError, match=r"did you mean 'similarity'\?.*must be imported first"):
        policy_class("similarities")


def test_a_name_cannot_be_taken_twice() -> None:
    class Other(Fixed):
        name = "anira-e"

    with pytest.raises(UserError, match="'anira-e' is already registered; choose another name"):
        register_policy(Other)
    assert policy_class("anira-e") is AniraE


def test_a_module_may_be_imported_again() -> None:
    assert register_policy(Similarity) is Similarity


def test_options_are_completed_and_checked() -> None:
    assert resolve_policy({"name": "gates", "see": "running"}) == {"name": "gates", "level": 0.5, "see": "running"}
    with pytest.raises(UserError, match="see"):
        resolve_policy({"name": "gates", "see": "nobody"})
    assert resolve_policy("gates") == resolve_policy({"name": "gates"})
    for nonsense in (None, 3, {}, {"name": 3}):
        with pytest.raises(UserError, match="policy must be a name or a table with one"):
            resolve_policy(nonsense)


def test_an_outside_policy_is_reported_like_ours() -> None:
    model = AniraForCausalLM(small_config("similarity", options={"threshold": 0.5}))
    assert model.policy.threshold.item() == 0.5
    options = {"threshold": 0.5, "sharpness": 8.0, "price": 0.01, "see": "all"}
    assert model.config.policy == {"name": "similarity", **options}
