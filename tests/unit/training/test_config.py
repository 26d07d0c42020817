import json
import math

import pytest
from tests.training_support import tiny_config

from anira.config import UserError, config_hash, from_dict, to_dict
from anira.training.config import TrainConfig, TrainSettings, variant_model
from anira.training.presets import preset


@pytest.mark.parametrize(
    "changes",
    [
        {"steps": 0},
        {"batch_size": 0},
        {"accumulation": 0},
        {"log_every": 0},
        {"eval_every": 0},
        {"eval_count": 0},
        {"final_count": 0},
        {"checkpoint_every": 0},
        {"batch_size": 10, "accumulation": 3},
        {"learning_rate": 0.0},
        {"clip": 0.0},
        {"warmup_steps": -1},
        {"gamma_warmup_steps": -1},
        {"max_length": 0},
        {"threads": 0},
        {"seed": -1},
        {"seed": 2**63},
        {"threads": 100_000},
        {"steps": 2**62},
        {"weight_decay": -1.0},
        {"betas": (1.0, 1.0)},
        {"betas": (0.9, -0.1)},
        {"learning_rate": math.inf},
        {"learning_rate": math.nan},
        {"clip": math.inf},
        {"weight_decay": math.nan},
        {"betas": (0.9, math.nan)},
    ],
    ids=str,
)
def test_settings_that_make_no_sense_are_refused_by_name(changes):
    with pytest.raises(UserError, match=next(iter(changes))):
        TrainSettings(**changes)


def test_resolving_writes_out_every_default():
    config = preset("mano-anira-o-smoke").resolved()
    assert config.task_config["operators"] == ["+", "-", "*"]
    assert config.model["freeze"] == "state"
    assert config.model["num_key_value_heads"] == config.model["num_attention_heads"]
    given = {"name": "anira-o", "gamma": 0.01, "base": 1.5, "bias": 0.0, "detach": False}
    assert config.model["policy"] == {**given, "lookahead": "full", "zero_start": False}
    assert config.resolved() == config


def test_a_stored_run_is_the_same_run():
    config = tiny_config()
    again = from_dict(TrainConfig, json.loads(json.dumps(to_dict(config))))
    assert again == config
    assert config_hash(again) == config_hash(config)
    assert (
        again.make_model_config(again.make_task()).to_dict() == config.make_model_config(config.make_task()).to_dict()
    )


def test_the_model_gets_the_vocabulary_of_the_task():
    config = preset("brevo-fixed-smoke")
    task = config.make_task()
    model = config.make_model_config(task)
    assert model.vocab_size == len(task.vocab)
    tokens = [task.vocab.tokens[i] for i in (model.pad_token_id, model.bos_token_id, model.eos_token_id)]
    assert tokens == ["<pad>", "<bos>", "<eos>"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"task_config": {"modulo": 7}}, "modulo"),
        ({"model": {"hidden": 64}}, "hidden"),
        ({"model": {"policy": {"name": "anira-o", "gama": 1.0}}}, "gama"),
    ],
)
def test_an_unknown_option_of_task_model_or_policy_is_an_error(changes, expected):
    config = TrainConfig(preset="x", variant="anira-o", task="mano", **changes)
    with pytest.raises(UserError, match=expected):
        config.resolved()


def test_variants():
    assert variant_model("unshared") == {"policy": {"name": "fixed"}, "shared_core": False}
    assert variant_model("anira-e") == {"policy": {"name": "anira-e"}}
    with pytest.raises(UserError, match="unknown policy"):
        variant_model("shared")
