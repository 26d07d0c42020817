"""What a run is said to take: counted against the models themselves."""

import dataclasses

import numpy as np
import pytest
import torch
from tests.training_support import tiny_config

from anira.inference import forward_cost
from anira.models import AniraForCausalLM
from anira.training.data import Batches
from anira.training.estimate import (
    SUSTAINED,
    activation_bytes,
    count_parameters,
    estimate,
    estimate_lines,
    full_cost,
)
from anira.training.presets import preset


def shape(config):
    return config.make_model_config(config.make_task())


@pytest.mark.parametrize(
    ("name", "total", "share"),
    [("brevo-anira-e-paper", 13.7, 0.08), ("mano-anira-e-paper", 5.1, 0.09), ("lano-anira-o-paper", 13.6, 0.08)],
)
def test_the_paper_counts_hold(name, total, share):
    """13.7M parameters with hidden size 512, 5.1M with 256; about 8% of them in the decider."""
    parameters, decider = count_parameters(shape(preset(name)))
    assert round(parameters / 1e6, 1) == total
    assert round(decider / parameters, 2) == share


@pytest.mark.parametrize("variant", ["anira-e", "anira-o", "fixed", "unshared"])
def test_parameters_are_those_of_the_model(variant):
    config = shape(tiny_config(f"mano-{variant}-smoke"))
    model = AniraForCausalLM(config)
    assert count_parameters(config) == (model.num_parameters(), sum(p.numel() for p in model.policy.parameters()))


def test_flops_are_three_forward_passes_of_the_tokens_of_every_step():
    config = tiny_config("brevo-anira-o-smoke", batch_size=8, accumulation=2, steps=5)
    task, model = config.make_task(), AniraForCausalLM(shape(config))
    parts = list(Batches(task, config, model.policy.noise_width).step(1))
    rows = [torch.full((1, length), model.config.max_depth) for part in parts for length in part.lengths.tolist()]
    found = estimate(config)
    assert len({row.shape for row in rows}) > 1, "rows of different lengths"
    assert found.flops == 3 * 5 * sum(forward_cost(model.config, model.policy, row).flops for row in rows)
    assert found.tokens == 5 * sum(row.numel() for row in rows)
    assert found.hours(found.flops / 3600) == pytest.approx(1)


@pytest.mark.parametrize("variant", ["anira-e", "anira-o", "fixed"])
def test_what_stays_in_float32_is_the_last_matrix_of_every_decision(variant):
    config = tiny_config(f"mano-{variant}-smoke", steps=5)
    model, found = AniraForCausalLM(shape(config)), estimate(config)
    last = 0 if variant == "fixed" else 2 * model.policy.decider.out.weight.numel()
    each = {"anira-e": 1, "anira-o": model.config.max_depth - 1, "fixed": 0}[variant]
    assert found.float32_flops == 3 * found.tokens * each * last
    assert found.hours(found.flops / 3600, float32_per_second=found.flops / 3600 / 16) == pytest.approx(
        1 + 15 * found.float32_flops / found.flops
    )


@pytest.mark.parametrize("policy", ["anira-e", "anira-o", "fixed"])
def test_memory_is_about_what_the_graph_keeps(policy):
    config = tiny_config(f"mano-{policy}-smoke", model={"hidden_size": 32, "intermediate_size": 96})
    model, kept = AniraForCausalLM(shape(config)).train(), {}
    weights = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}

    def note(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    ids = torch.from_numpy(np.random.default_rng(0).integers(1, 5, size=(4, 12)))
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        model(ids, labels=ids)
    held = sum(tensor.untyped_storage().nbytes() for place, tensor in kept.items() if place not in weights)
    assert activation_bytes(model.config, full_cost(model.config, np.full(4, 12))) == pytest.approx(held, rel=0.1)


def test_state_is_weights_gradients_and_two_moments():
    config = tiny_config()
    assert estimate(config).state_bytes == 16 * count_parameters(shape(config))[0]


def test_longer_training_takes_more_and_the_same_memory():
    config = preset("mano-anira-e-cpu")
    once, twice = estimate(config), estimate(dataclasses.replace(config, steps=2 * config.steps))
    assert twice.flops == 2 * once.flops
    assert twice.activation_bytes == once.activation_bytes


def test_lines_say_what_is_expected_and_what_is_left_out():
    names = ("mano-anira-e-paper", "brevo-fixed-paper")
    lines = estimate_lines([preset(name) for name in names])
    assert lines[0].startswith("mano-anira-e-paper: 5.1M parameters (0.45M of them decide), ")
    assert lines[1].startswith("brevo-fixed-paper: 12.6M parameters, ")
    assert lines[2].startswith("together: ")
    flops = sum(estimate(preset(name)).flops for name in names)
    assert f"{flops:.1e} FLOPs" in lines[2]
    for machine in SUSTAINED:
        assert all(f"h on {machine}" in line for line in lines[:3])
        assert machine in lines[-1]
    assert "not counted: evaluations" in lines[3]
    assert len(estimate_lines([preset(names[0])])) == 3, "one run needs no sum"
