"""What is refused for want of memory could not have run; what could is not refused."""

import numpy as np
import pytest
import torch
from tests.training_support import tiny_config

from anira.config import UserError
from anira.config.machine import memory
from anira.training import fitting
from anira.training.estimate import activation_bytes, count_parameters, full_cost
from anira.training.fitting import check_evaluation, check_fits, state_bytes, step_bytes
from anira.training.presets import preset, preset_names


def shape(config):
    return config.make_model_config(config.make_task())


@pytest.mark.parametrize("name", [name for name in preset_names() if name.startswith(("mano", "lano"))])
def test_the_floor_is_below_what_is_counted_on_the_model_and_near_it(name):
    config = shape(preset(name))
    counted = 16 * count_parameters(config)[0]
    assert 0.8 * counted < state_bytes(config) <= counted
    kept = activation_bytes(config, full_cost(config, np.full(4, 32)))
    assert 0.6 * kept < step_bytes(config, 4 * 32) <= kept


def test_what_fits_is_let_pass(monkeypatch):
    config = tiny_config()
    needed = state_bytes(shape(config)) + step_bytes(shape(config), config.batch_size * config.max_length)
    monkeypatch.setattr("anira.config.machine.memory", lambda: needed)
    check_fits(config)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"model": {"hidden_size": 2**20}}, "a model of hidden_size 1048576 and intermediate_size 24 takes about"),
        ({"model": {"max_depth": 10**9}}, "a step of 8 rows at .* and max_depth 1000000000 takes about"),
        ({"batch_size": 10**9}, "a batch of 1000000000 rows takes about"),
        ({"eval_count": 10**9}, "an evaluation of 1000000000 instances of each knob takes about"),
        ({"model": {"num_prelude_layers": 1001}}, "1000 layers of its own, not 1003"),
        ({"max_length": 8}, "a row of 11 tokens does not fit max_length 8"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused_with_what_it_takes(changes, complaint):
    with pytest.raises(UserError, match=complaint):
        check_fits(tiny_config(**changes))


def test_parts_of_a_step_need_less(monkeypatch):
    """Room for the rows of one part, and not for twice as many."""
    one, four = tiny_config(batch_size=64), tiny_config(batch_size=64, accumulation=4)
    part = state_bytes(shape(one)) + step_bytes(shape(one), 16 * one.max_length)
    monkeypatch.setattr("anira.config.machine.memory", lambda: part)
    check_fits(four)
    with pytest.raises(UserError, match="a step of 64 rows"):
        check_fits(one)


def test_a_device_has_memory_of_its_own(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: type("Facts", (), {"total_memory": 10**9}))
    with pytest.raises(UserError, match=r"a step takes about 2 GB, and cuda:0 has 1 GB"):
        fitting._check_device(2 * 10**9, "a step", torch.device("cuda:0"))


def test_an_evaluation_is_judged_by_its_largest_knob(monkeypatch):
    task = tiny_config().make_task()
    monkeypatch.setattr("anira.config.machine.memory", lambda: 10**6)
    check_evaluation([(task, 1), (task, 2)], 100, 3)
    with pytest.raises(UserError, match="1 MB"):
        check_evaluation([(task, 1), (task, 200)], 100, 3)


def test_the_machine_has_memory():
    assert memory() > 10**8
