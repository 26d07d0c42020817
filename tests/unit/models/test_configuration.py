import json
from pathlib import Path
from typing import Any

import pytest
from tests.models_support import small_config

from anira.config import UserError
from anira.models import AniraConfig, AniraForCausalLM

# What is wrong, and what the message must tell the user to change.
IMPOSSIBLE: list[tuple[dict[str, Any], str]] = [
    ({"num_attention_heads": 4, "num_key_value_heads": 3}, "num_attention_heads 4 must be a multiple of .* 3"),
    ({"num_key_value_heads": 0}, "must be a multiple of num_key_value_heads 0"),
    ({"num_attention_heads": 3}, "hidden_size 16 must be a multiple of num_attention_heads 3"),
    ({"hidden_size": 12, "num_attention_heads": 4}, "even .rotary embedding.: change hidden_size or the heads"),
    ({"head_dim": 7}, "dimension of a head must be even"),
    ({"max_depth": 0}, "max_depth must be at least 1, not 0"),
    ({"num_core_layers": 0}, "num_core_layers must be at least 1, not 0"),
    ({"num_prelude_layers": -1}, "num_prelude_layers must be at least 0, not -1"),
    ({"num_coda_layers": -1}, "num_coda_layers must be at least 0, not -1"),
    ({"vocab_size": 0}, "vocab_size must be at least 1, not 0"),
    ({"hidden_size": 0}, "hidden_size must be at least 1, not 0"),
    ({"intermediate_size": -1}, "intermediate_size must be at least 1, not -1"),
    ({"num_attention_heads": 0}, "num_attention_heads must be at least 1, not 0"),
    ({"max_position_embeddings": 0}, "max_position_embeddings must be at least 1, not 0"),
    ({"initializer_range": -1.0}, "initializer_range must be at least 0, not -1.0"),
    ({"initializer_range": float("nan")}, "initializer_range must be at least 0, not nan"),
    ({"initial_state_std": float("inf")}, "initial_state_std must be at least 0, not inf"),
    ({"freeze": "state", "num_core_layers": 2}, "use freeze='kv' .or leave it out. with num_core_layers=2"),
    ({"freeze": "keys"}, "freeze must be one of state, kv, first, not 'keys'"),
    ({"injection": "mul"}, "injection must be one of none, add, concat-linear, not 'mul'"),
    ({"initial_state": "ones"}, "initial_state must be one of prelude, zero, random, not 'ones'"),
    ({"initial_state": "zero"}, "initial_state 'zero' needs an injection"),
    ({"initial_state": "random"}, "initial_state 'random' needs an injection"),
    ({"shared_core": False, "num_core_layers": 2}, "set shared_core=True, or num_core_layers=1 with freeze='state'"),
    ({"max_dept": 4}, "unknown key 'max_dept' in AniraConfig: did you mean 'max_depth'"),
    ({"policy": {"name": "anira-a"}}, "unknown policy 'anira-a': did you mean 'anira-"),
    ({"policy": {"name": "anira-e", "gama": 0.1}}, "gama.*gamma"),
    ({"policy": {"name": "anira-e", "gamma": -1.0}}, "gamma must be at least 0, not -1.0"),
    ({"policy": {"name": "anira-o", "base": 0.5}}, "base must be at least 1 .*not 0.5"),
    ({"policy": {"name": "anira-e", "temperature": 0.0}}, "temperature must be positive, not 0.0"),
    ({"policy": {"name": "anira-e", "gamma": "much"}}, "gamma"),
    ({"policy": {"name": "fixed", "gamma": 0.1}}, "gamma"),
    ({"policy": {"gamma": 0.1}}, "policy must be a name or a table with one"),
    ({"policy": "anira-a"}, "unknown policy 'anira-a': did you mean 'anira-"),
    ({"policy": 3}, "policy must be a name or a table with one, .*not 3"),
]


@pytest.mark.parametrize(("changes", "message"), IMPOSSIBLE)
def test_impossible_configurations_say_what_to_change(changes: dict[str, Any], message: str) -> None:
    sizes = {"vocab_size": 20, "hidden_size": 16, "intermediate_size": 24, "num_attention_heads": 2}
    with pytest.raises(UserError, match=message):
        AniraConfig(**{**sizes, **changes})


@pytest.mark.parametrize("policy", ["anira-e", "anira-o", "similarity", "gates"])
def test_kept_keys_and_values_need_a_shared_core(policy: str) -> None:
    with pytest.raises(UserError, match=f"unshared core with freeze='kv' takes the fixed policy only, not '{policy}'"):
        small_config(policy, shared_core=False, freeze="kv")
    assert small_config(policy, shared_core=False).freeze == "state"


def test_other_attention_implementations_are_refused() -> None:
    config = small_config(attn_implementation="eager")
    with pytest.raises(UserError, match="attn_implementation='sdpa' only, not 'eager'"):
        AniraForCausalLM(config)


@pytest.mark.parametrize(("layers", "freeze"), [(1, "state"), (2, "kv"), (3, "kv")])
def test_freeze_follows_from_the_layers_of_the_core(layers: int, freeze: str) -> None:
    assert small_config(num_core_layers=layers).freeze == freeze


def test_options_of_the_policy_are_completed() -> None:
    config = small_config("anira-e", options={"base": 1.25})
    given = {"name": "anira-e", "gamma": 0.1, "base": 1.25, "temperature": 1.0, "detach": False}
    assert config.policy == {**given, "lookahead": "full", "zero_start": False}
    assert AniraConfig().policy["name"] == "anira-e"


def test_a_policy_can_be_given_by_its_name() -> None:
    config = AniraConfig(policy="anira-o")
    assert config.policy == AniraConfig(policy={"name": "anira-o"}).policy
    assert AniraConfig.from_dict(config.to_dict()).policy == config.policy


def test_sizes_are_completed() -> None:
    config = small_config(num_attention_heads=4)
    assert (config.num_key_value_heads, config.head_dim) == (4, 4)


@pytest.mark.parametrize(("shared", "layers"), [(True, 1 + 2 + 1), (False, 1 + 5 * 2 + 1)])
def test_hidden_layers_are_those_with_parameters(shared: bool, layers: int) -> None:
    config = small_config("fixed", num_core_layers=2, shared_core=shared)
    assert config.num_hidden_layers == layers
    assert len(AniraForCausalLM(config).model.core) == layers - 2


def test_a_configuration_survives_its_dictionary() -> None:
    config = small_config("anira-o", options={"base": 1.5}, injection="add", initial_state="zero", num_core_layers=2)
    again = AniraConfig.from_dict(config.to_dict())
    assert again.to_dict() == config.to_dict()


def test_keys_that_hugging_face_writes_are_accepted(tmp_path: Path) -> None:
    """Of this version by name, and of newer ones whatever they are; our own unknown keys stay errors."""
    small_config("anira-o").save_pretrained(tmp_path)
    file = tmp_path / "config.json"
    saved = json.loads(file.read_text())
    newer = {"transformers_version": "99.0.0", "a_field_of_the_future": 3}
    for extra in ({"auto_map": {"AutoConfig": "x.Y"}}, {"quantization_config": {"quant_method": "torchao"}}, newer):
        file.write_text(json.dumps(saved | extra))
        loaded = AniraConfig.from_pretrained(tmp_path)
        assert loaded.to_dict()["policy"] == saved["policy"]
    file.write_text(json.dumps(saved | {"a_field_of_the_future": 3}))
    with pytest.raises(UserError, match="unknown key 'a_field_of_the_future'"):
        AniraConfig.from_pretrained(tmp_path)
