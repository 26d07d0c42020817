"""Options of a preset by name: what changes, what follows from it, and what is refused."""

import pytest

from anira.config import UserError
from anira.training.overrides import option_names, override
from anira.training.presets import preset

MANO = preset("mano-anira-o-smoke")


def test_nothing_changed_is_the_preset():
    assert override(MANO, {}) == MANO.resolved()


def test_options_of_every_part_are_changed_and_no_other():
    changed = override(MANO, {"steps": 5, "task.modulus": 7, "model.hidden_size": 48, "policy.gamma": 1})
    expected = MANO.resolved()
    expected.task_config["modulus"] = 7
    expected.model["hidden_size"] = 48
    expected.model["policy"]["gamma"] = 1.0
    assert (changed.steps, changed.task_config, changed.model) == (5, expected.task_config, expected.model)


def test_what_follows_from_an_option_follows_from_its_new_value():
    assert override(MANO, {"model.num_attention_heads": 4}).model["num_key_value_heads"] == 4


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("gamma", 1, "has no option 'gamma': "),
        ("task.modulo", 1, "did you mean 'task.modulus'?"),
        ("model.policy", {}, "has no option 'model.policy'"),
        ("preset", "x", "has no option 'preset'"),
        ("steps", "many", "steps must be int, not 'many'"),
        ("steps", 0, "steps must be at least 1"),
        ("policy.gamma", "big", "gamma"),
        ("task.modulus", 1.5, "modulus must be int"),
    ],
)
def test_what_is_not_an_option_or_not_its_value_is_refused(name, value, message):
    with pytest.raises(UserError, match=message.replace("?", r"\?")):
        override(MANO, {name: value})


def test_every_option_that_is_named_can_be_given():
    resolved = MANO.resolved()
    parts = {"": vars(resolved), "task": resolved.task_config, "model": resolved.model}
    parts["policy"] = resolved.model["policy"]
    values = {name: parts[name.rpartition(".")[0]][name.rpartition(".")[2]] for name in option_names(MANO)}
    assert override(MANO, values) == resolved
