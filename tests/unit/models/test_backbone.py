from itertools import pairwise

import pytest
import torch
from tests.models_support import random_ids, random_model, small_config
from torch import Tensor

from anira.models.backbone import Backbone
from anira.models.noise import position_noise
from anira.models.norm import RMSNorm, _Norm


def tensor(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def backbone_of(**changes: object) -> Backbone:
    return random_model(small_config("fixed", **changes)).model


def test_norm_divides_by_the_root_mean_square() -> None:
    norm, x = RMSNorm(16, 1e-6).double(), tensor(5, 16)
    norm.weight.data = tensor(16, seed=1)
    expected = norm.weight * x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt()
    torch.testing.assert_close(norm(x), expected, rtol=1e-12, atol=0)
    with torch.no_grad():
        torch.testing.assert_close(norm(x), expected, rtol=1e-12, atol=0)


def test_norm_has_the_gradient_of_what_it_computes() -> None:
    norm, x = RMSNorm(16, 1e-2).double(), tensor(2, 5, 16).requires_grad_()
    assert torch.autograd.gradcheck(_Norm.apply, (x, tensor(16, seed=1).requires_grad_(), 1e-2))
    norm(torch.zeros_like(x)).sum().backward()
    assert norm.weight.grad is not None and bool((norm.weight.grad == 0).all())


@pytest.mark.parametrize("injection", ["none", "add", "concat-linear"])
def test_the_input_of_an_iteration(injection: str) -> None:
    backbone, h, h0 = backbone_of(injection=injection), tensor(3, 16), tensor(3, 16, seed=1)
    expected = {"none": h, "add": h + h0}.get(injection)
    if expected is None:
        weight = backbone.adapter.weight
        expected = h @ weight[:, :16].T + h0 @ weight[:, 16:].T
    torch.testing.assert_close(backbone.inject(h, h0), expected, rtol=1e-12, atol=1e-12)


def test_the_state_before_the_first_iteration() -> None:
    h0, positions = tensor(4, 16), torch.tensor([3, 0, 7, 3])

    def start(**changes: object) -> Tensor:
        return backbone_of(**changes).initial_state(h0, positions)

    assert torch.equal(start(), h0)
    assert (start(injection="add", initial_state="zero") == 0).all()
    drawn = start(injection="add", initial_state="random", initial_state_std=0.5)
    assert torch.equal(drawn, 0.5 * position_noise(positions, 16, torch.float64))
    assert torch.equal(drawn[0], drawn[3])


def test_a_shared_core_has_the_same_layers_in_every_iteration_and_an_unshared_one_its_own() -> None:
    shared, unshared = (backbone_of(num_core_layers=2, shared_core=shared) for shared in (True, False))
    assert shared.core_layers(1) == shared.core_layers(5) == list(shared.core)
    layers = [layer for depth in range(1, 6) for layer in unshared.core_layers(depth)]
    assert layers == list(unshared.core)
    assert len(set(layers)) == 10


STARTS = [("none", "prelude"), ("add", "prelude"), ("add", "zero"), ("concat-linear", "random")]


@pytest.mark.parametrize(("injection", "initial_state"), STARTS)
def test_an_iteration_is_the_core_on_the_injected_state(injection: str, initial_state: str) -> None:
    model = random_model(small_config("fixed", injection=injection, initial_state=initial_state, num_core_layers=2))
    ids = random_ids(2, 7)
    states = model(ids, output_iteration_states=True).iteration_states
    body = model.model
    rope = body.rope(states[0], torch.arange(7)[None])
    h0 = body.prelude[0](body.embed_tokens(ids), position_embeddings=rope)
    for before, after in pairwise(states):
        x = body.inject(before, h0)
        for layer in body.core:
            x = layer(x, position_embeddings=rope)
        torch.testing.assert_close(x, after, rtol=0, atol=1e-12)
