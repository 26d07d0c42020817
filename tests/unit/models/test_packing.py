from types import SimpleNamespace

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from anira.models.packing import PackedAttention, Packing


def tensor(*shape: int, seed: int = 0) -> Tensor:
    drawn = torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return drawn.requires_grad_()


@pytest.mark.parametrize("lengths", [[3, 1, 4], [2, 2]])
def test_tokens_come_back_from_their_rows_and_so_do_their_gradients(lengths: list[int]) -> None:
    packing, flat = Packing.of(torch.tensor(lengths), sum(lengths)), tensor(sum(lengths), 2, 5)
    laid = packing.lay_out(flat)
    assert laid.shape == (len(lengths), 2, max(lengths), 5)
    assert torch.equal(laid[0, :, : lengths[0]], flat[: lengths[0]].transpose(0, 1))
    assert torch.equal(packing.take_back(laid), flat)
    assert torch.autograd.gradcheck(lambda x: packing.take_back(packing.lay_out(x) ** 2), flat)


@pytest.mark.parametrize("heads", [1, 4])
def test_long_rows_and_shared_heads_attend_as_short_ones_do(monkeypatch: pytest.MonkeyPatch, heads: int) -> None:
    q, k, v = tensor(1, 4, 9, 6), tensor(1, heads, 9, 6, seed=1), tensor(1, heads, 9, 6, seed=2)
    module = SimpleNamespace(scaling=0.5, num_key_value_groups=4 // heads)
    plan = PackedAttention(Packing.of(torch.tensor([5, 4]), 9))
    short = plan.attend(module, q, k, v, None)
    monkeypatch.setattr("anira.models.short._SHORT", 0)
    torch.testing.assert_close(plan.attend(module, q, k, v, None), short, rtol=0, atol=1e-12)
    alone = scaled_dot_product_attention(
        *(part[:, :, 5:] for part in (q, k, v)), is_causal=True, scale=0.5, enable_gqa=heads < 4
    )
    torch.testing.assert_close(short[:, 5:], alone.transpose(1, 2), rtol=0, atol=1e-12)
