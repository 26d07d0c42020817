import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from torch import Tensor

from anira.models import uniform_noise
from anira.models.noise import position_noise


def draw(rows: Tensor | None = None, positions: Tensor | None = None, **changes: int) -> Tensor:
    rows = torch.arange(40) if rows is None else rows
    positions = torch.arange(50) if positions is None else positions
    return uniform_noise(**{"seed": 0, "step": 0, "width": 6, **changes}, rows=rows, positions=positions)


def test_shape_and_open_interval() -> None:
    noise = uniform_noise(seed=3, step=1, rows=torch.arange(300), positions=torch.arange(200), width=20)
    assert noise.shape == (300, 200, 20)
    assert noise.dtype == torch.float32
    assert noise.min() > 0
    assert noise.max() < 1
    assert torch.isfinite(torch.log(-torch.log(noise))).all()


@pytest.mark.parametrize("seed", range(5))
def test_values_are_uniform(seed: int) -> None:
    noise = draw(seed=seed).flatten().double()
    assert stats.kstest(noise.numpy(), "uniform").pvalue > 1e-3
    error = 4 / len(noise) ** 0.5
    assert abs(noise.mean().item() - 1 / 2) < error * (1 / 12) ** 0.5
    assert abs(noise.var().item() - 1 / 12) < error * (1 / 180) ** 0.5


def test_neighbours_are_uncorrelated() -> None:
    noise = draw() - 0.5
    for dim in range(3):
        one, other = noise.narrow(dim, 0, noise.shape[dim] - 1), noise.narrow(dim, 1, noise.shape[dim] - 1)
        correlation = 12 * (one * other).mean().item()
        assert abs(correlation) < 4 / one.numel() ** 0.5


def test_seeds_steps_rows_positions_and_channels_differ() -> None:
    base = draw()
    for other in (draw(seed=1), draw(step=1), draw(rows=torch.arange(40, 80)), draw(positions=torch.arange(50, 100))):
        assert not (base == other).all(dim=(0, 1)).any()
        assert abs((base - 0.5).mul(other - 0.5).mean().item()) < 0.01
    assert base.flatten().unique().numel() > 0.99 * base.numel()


def test_neither_padding_nor_the_other_rows_matter() -> None:
    base = draw()
    order = torch.tensor([17, 3, 39])
    assert torch.equal(draw(rows=order), base[order])
    assert torch.equal(draw(positions=torch.arange(80))[:, :50], base)
    assert torch.equal(draw(positions=torch.arange(10, 50)), base[:, 10:])
    assert torch.equal(draw(width=9)[..., :6], base)


def test_swapping_row_and_position_is_another_number() -> None:
    square = uniform_noise(seed=0, step=0, rows=torch.arange(30), positions=torch.arange(30), width=1)[..., 0]
    off_diagonal = ~torch.eye(30, dtype=torch.bool)
    assert not (square == square.T)[off_diagonal].any()


def scrambled(x: int) -> int:
    """Scramble a 64-bit number as splitmix64 does, in Python's integers."""
    x = (x + 0x9E3779B97F4A7C15) % 2**64
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
    return x ^ x >> 31


@settings(deadline=None)
@given(*[st.integers(0, 2**40)] * 4)
def test_values_follow_from_their_address(seed: int, step: int, row: int, position: int) -> None:
    rows, positions = torch.tensor([row]), torch.tensor([position])
    noise = uniform_noise(seed=seed, step=step, rows=rows, positions=positions, width=3)
    token = scrambled(scrambled(scrambled(scrambled(seed) + step) + row) + position)
    bits = [scrambled(token + channel) % 2**23 for channel in range(3)]
    assert noise.flatten().tolist() == [(number + 0.5) / 2**23 for number in bits]


def test_initial_states_are_normal_and_depend_on_the_position_only() -> None:
    states = position_noise(torch.arange(200), 64, torch.float64)
    assert stats.kstest(states.flatten().numpy(), "norm").pvalue > 1e-3
    picked = torch.tensor([[5, 7], [7, 150]])
    assert torch.equal(position_noise(picked, 64, torch.float64), states[picked])
    assert states.unique().numel() > 0.99 * states.numel()
