"""Top-k of a sequence against a plain sort, however sequences lie in the batch."""

import math

import pytest
import torch
from torch import Tensor

from anira.models.policies.routing import top_k_per_row


def by_sorting(scores: list[float], share: float) -> list[bool]:
    """Return who is among the best of one sequence, the earlier of equal ones first."""
    num = math.ceil(share * len(scores) - 1e-9)
    best = sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:num]
    return [i in best for i in range(len(scores))]


def planted(lengths: list[int], ties: bool) -> list[list[float]]:
    generator = torch.Generator().manual_seed(sum(lengths))
    draws = [torch.randn(length, generator=generator) for length in lengths]
    return [(draw.round() if ties else draw).tolist() for draw in draws]


LENGTHS = [[1], [7, 7, 7], [1, 10, 4, 3], [5, 1, 1, 12]]
every_share = pytest.mark.parametrize("share", [0.05, 0.2, 0.5, 0.6, 1.0])
every_length = pytest.mark.parametrize("lengths", LENGTHS, ids=str)


@every_share
@every_length
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("left", [False, True])
def test_padded_rows(lengths: list[int], share: float, ties: bool, left: bool) -> None:
    scores = planted(lengths, ties)
    time = max(lengths) + 2
    padded, valid = torch.full((len(lengths), time), 99.0), torch.zeros(len(lengths), time, dtype=torch.bool)
    for row, values in enumerate(scores):
        place = slice(time - len(values), None) if left else slice(len(values))
        padded[row, place], valid[row, place] = torch.tensor(values), True
    rows = torch.arange(len(lengths))[:, None].expand_as(valid)
    chosen = top_k_per_row(padded, rows, valid, share)
    assert not chosen[~valid].any()
    expected = [by_sorting(values, share) for values in scores]
    assert [chosen[row][valid[row]].tolist() for row in range(len(lengths))] == expected


@every_share
@every_length
@pytest.mark.parametrize("ties", [False, True])
def test_packed_rows(lengths: list[int], share: float, ties: bool) -> None:
    scores = planted(lengths, ties)
    flat = torch.tensor([value for values in scores for value in values])[None]
    rows = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))[None]
    chosen = top_k_per_row(flat, rows, torch.ones_like(rows, dtype=torch.bool), share)
    assert chosen[0].tolist() == [one for values in scores for one in by_sorting(values, share)]


def test_only_some_may_be_chosen_while_all_count() -> None:
    scores, rows = torch.arange(10.0), torch.zeros(10, dtype=torch.long)
    among = scores < 5
    chosen = top_k_per_row(scores, rows, torch.ones_like(among), 0.3, among)
    assert chosen.nonzero()[:, 0].tolist() == [2, 3, 4]
    assert torch.equal(top_k_per_row(scores, rows, torch.ones_like(among), 0.8, among), among)


def test_rounding_costs_nobody_a_place() -> None:
    def number(share: float, length: int) -> int:
        row: Tensor = torch.zeros(length, dtype=torch.long)
        return int(top_k_per_row(row.float(), row, torch.ones_like(row, dtype=torch.bool), share).sum())

    assert 0.07 * 100 > 7
    assert number(0.07, 100) == 7
    assert number(0.071, 100) == 8
