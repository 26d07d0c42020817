"""Attention over few keys equals torch's, whichever way its weights are laid out."""

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from anira.models.short import is_short, short_attention


def tensor(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("keys", [5, 15, 16, 40])  # on both sides of the change of layout
@pytest.mark.parametrize("masked", [False, True])
def test_short_attention_is_attention(keys: int, masked: bool) -> None:
    q, k, v = (tensor(3, 2, keys, 4, seed=seed).requires_grad_() for seed in range(3))
    mask = None
    if masked:
        mask = tensor(3, 1, keys, keys, seed=3) > 0
        mask |= torch.eye(keys, dtype=torch.bool)  # every query sees a key
    ours = short_attention(q, k, v, mask, 0.3)
    theirs = scaled_dot_product_attention(q, k, v, mask, is_causal=not masked, scale=0.3)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    for one, other in zip(*(torch.autograd.grad(out.square().sum(), (q, k, v)) for out in (ours, theirs)), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


def test_fewer_queries_than_keys_see_what_the_mask_lets_them() -> None:
    q, k, v = tensor(2, 2, 3, 4), tensor(2, 2, 9, 4, seed=1), tensor(2, 2, 9, 4, seed=2)
    mask = (torch.arange(9) <= torch.tensor([2, 5, 8])[:, None]).expand(2, 1, 3, 9)
    theirs = scaled_dot_product_attention(q, k, v, mask, scale=0.5)
    torch.testing.assert_close(short_attention(q, k, v, mask, 0.5), theirs, rtol=0, atol=1e-12)


def test_shared_heads_and_many_keys_are_left_to_torch() -> None:
    q = tensor(1, 4, 8, 2)
    assert is_short(q, q)
    assert not is_short(q, q[:, :2])
    assert not is_short(q, tensor(1, 4, 65, 2))
