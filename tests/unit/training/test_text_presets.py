"""Presets of runs on text: the paper's numbers, the recipe of its base model, and what they are expected to take."""

import pytest

from anira.config import UserError, from_dict
from anira.config.strict import stored_values
from anira.training.config import TrainConfig
from anira.training.estimate import count_parameters
from anira.training.presets import preset
from anira.training.text_estimate import text_estimate_lines
from anira.training.text_presets import check_start, text_preset_names


@pytest.mark.parametrize("variant", ["anira-e", "anira-o", "fixed"])
def test_the_papers_fine_tuning(variant):
    config = preset(f"gsm-{variant}").resolved()
    assert config.steps * 32 * 4096 == pytest.approx(5e9, rel=1e-4)
    assert (config.batch_size, config.max_length, config.learning_rate) == (32, 4096, 2e-5)
    assert (config.model["max_depth"], config.model["policy"].get("gamma", 0.1)) == (8, 0.1)
    total, decider = count_parameters(config.model_config())
    assert total - decider == 1_385_228_288  # as many as the released file has
    with pytest.raises(UserError, match="--init-from"):
        check_start(config)


def test_the_recipe_of_the_base_model():
    config = preset("retrofit-huginn")
    assert config.steps * config.batch_size * (config.max_length - 1) == 50_000 * 64 * 16 * 1024
    assert (config.muon_rate, config.learning_rate, config.betas) == (1e-3, 5e-5, (0.9, 0.95))
    assert (config.warmup_steps / config.steps, config.decay_share) == (0.0025, 0.6)
    assert config.model["policy"] == {"name": "huginn", "ramp": 0.75}


def test_every_preset_is_stored_and_read_back():
    for name in text_preset_names():
        config = preset(name).resolved()
        assert config.preset == name
        assert from_dict(TrainConfig, stored_values(config)) == config
        assert config.resolved() == config


def test_what_a_run_takes_is_said_first():
    lines = "\n".join(text_estimate_lines(preset("gsm-anira-o"), processes=4))
    for words in ("1,402.0M parameters, 16.8M of which decide", "5,000.0M tokens", "1.3e+20 FLOPs", "h on 4 A100s"):
        assert words in lines
    assert "two CPU cores" in "\n".join(text_estimate_lines(preset("text-fixed-smoke")))


@pytest.mark.parametrize("name", ["gsm", "gsm-", "text-anira-o", "text--cpu", "gsm-anira-x"])
def test_unknown_names_are_refused(name):
    with pytest.raises(UserError, match="unknown"):
        preset(name)
