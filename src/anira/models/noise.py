"""Randomness of policies as an input: uniform numbers addressed by (seed, step, row, position, channel).

A counter hash, not a generator with a state: padding, sharding over processes, resuming and compilation cannot change
the numbers, and the graph that consumes them is free of random calls.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

_GOLDEN = -7046029254386353131  # 2^64 / golden ratio as a signed 64-bit number; torch has no unsigned arithmetic
_MIX_1 = -4658895280553007687
_MIX_2 = -7723592293110705685
_WITHIN_3 = math.erf(3 / 2**0.5)  # the probability that a standard normal number lies within 3 of its mean


def uniform_noise(
    *, seed: int | Int[Tensor, ""], step: int, rows: Int[Tensor, " batch"], positions: Int[Tensor, " time"], width: int
) -> Float[Tensor, "batch time width"]:
    """Return uniform float32 numbers in the open interval (0, 1).

    >>> args = dict(seed=0, step=7, positions=torch.arange(3), width=2)
    >>> both = uniform_noise(rows=torch.tensor([5, 9]), **args)
    >>> bool((both[1] == uniform_noise(rows=torch.tensor([9]), **args)[0]).all())
    True
    """
    return _noise(seed, step, rows[:, None], positions[None], width)


def token_noise(
    *, seed: int, rows: Int[Tensor, "*tokens"], positions: Int[Tensor, "*tokens"]
) -> Float[Tensor, "*tokens"]:
    """Return one such number for each token of a list of any shape, with rows and positions of its own."""
    return _noise(seed, 0, rows, positions, 1)[..., 0]


def _noise(seed: int | Tensor, step: int, rows: Tensor, positions: Tensor, width: int) -> Tensor:
    key = _mix(_mix(torch.as_tensor(seed, device=rows.device)) + step)
    per_token = _mix(_mix(key + rows.long()) + positions.long()).unsqueeze(-1)
    bits = _mix(per_token + torch.arange(width, device=rows.device))
    # 23 bits and a half: exactly representable, never 0 and never 1, so that both logarithms of a Gumbel are finite.
    return ((bits & 0x7FFFFF).float() + 0.5) / 0x800000


def step_noise(*, seed: int, step: int, width: int) -> Float[Tensor, " width"]:
    """Return the uniform numbers of an optimizer step: the same for all its rows, parts and processes."""
    rows, positions = torch.tensor([-1]), torch.tensor([-1])  # no row and no token has these numbers
    return uniform_noise(seed=seed, step=step, rows=rows, positions=positions, width=width)[0, 0]


def drawn_noise(batch: int, time: int, width: int, device: torch.device) -> Float[Tensor, "batch time width"]:
    """Return noise keyed by one draw from torch's generator, for callers who bring none.

    So `manual_seed` and the generator states that Hugging Face's Trainer saves decide it. Processes of one run, which
    Trainer seeds alike, differ by their rank.
    """
    seed = torch.randint(2**62, (), device=device)
    rank = torch.distributed.get_rank() if torch.distributed.is_initialized() else 0
    rows, positions = (torch.arange(size, device=device) for size in (batch, time))
    return uniform_noise(seed=seed, step=rank, rows=rows, positions=positions, width=width)


def position_noise(positions: Int[Tensor, "*tokens"], width: int, dtype: torch.dtype) -> Float[Tensor, "*tokens width"]:
    """Return standard normal numbers, cut at 3 as Huginn's are, that depend on the position only.

    They are for random initial states. Keyed by position, because a state drawn anew at every call could not be cached
    exactly.
    """
    bits = _mix(_mix(positions.long())[..., None] + torch.arange(width, device=positions.device))
    uniform = ((bits & 0x7FFFFF).double() + 0.5) / 0x800000
    return (torch.erfinv(_WITHIN_3 * (2 * uniform - 1)) * 2**0.5).to(dtype)


def _mix(x: Tensor) -> Tensor:
    """Scramble 64-bit integers so that neighbouring inputs give unrelated outputs (the splitmix64 finaliser)."""
    x = x + _GOLDEN
    x = (x ^ _shift(x, 30)) * _MIX_1
    x = (x ^ _shift(x, 27)) * _MIX_2
    return x ^ _shift(x, 31)


def _shift(x: Tensor, bits: int) -> Tensor:
    # The mask makes torch's arithmetic shift a logical one.
    return (x >> bits) & ((1 << (64 - bits)) - 1)
