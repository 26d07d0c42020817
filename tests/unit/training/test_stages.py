"""A second stage starts from the weights of the first, keeps frozen parts, and is refused without its first stage."""

import pytest
import torch
from tests.training_support import begin, resume, tiny_config, train_tiny

from anira.config import UserError
from anira.training.overrides import override
from anira.training.presets import preset
from anira.training.run import load_run
from anira.training.stages import check_init, check_stage


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """The root of all runs, and a run of Ouro's first stage below it."""
    root = tmp_path_factory.mktemp("runs")
    return root, train_tiny(root, "words-ouro-smoke", steps=2)


def weights(path):
    return load_run(path)[1].state_dict()


def second(first, **changes):
    """The run of the second stage that begins where the first one ended."""
    root, path = first
    policy = {"name": "ouro", "stage": 2}
    config = tiny_config("words-ouro-smoke", {"policy": policy}, steps=3, frozen="backbone")
    return override(config, {"init_from": str(path.relative_to(root)), **changes})


def test_a_frozen_backbone_stays_and_the_gate_is_trained(first):
    path = resume(begin(first[0], second(first)))
    before, after = weights(first[1]), weights(path)
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed and all(name.startswith("policy.") for name in changed)


@pytest.mark.parametrize(
    ("name", "changes"),
    [("words-ouro-smoke", {"policy.stage": 2}), ("words-calm-smoke", {"policy.confidence": "classifier"})],
)
def test_a_second_stage_without_its_first_is_refused(name, changes):
    config = override(preset(name), changes)
    with pytest.raises(UserError, match=r"second stage, which starts from .*: name that run with --init-from"):
        check_stage(config)
    check_stage(override(config, {"init_from": "somewhere"}))
    check_stage(preset(name))


def test_a_run_that_is_not_there_or_has_another_shape_is_refused(first):
    with pytest.raises(UserError, match="there is no run 'nowhere' to start from"):
        check_init(second(first, init_from="nowhere"), first[0])
    with pytest.raises(UserError, match="its backbone is another one"):
        check_init(second(first, **{"model.hidden_size": 64}), first[0])
