from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from anira.models.policies import Route, State, TaskLoss, passthrough


@dataclass
class Memory(State):
    depth: Tensor
    view: Tensor
    nothing: Tensor | None
    rule: str


def memory() -> Memory:
    return Memory(torch.arange(5), torch.arange(10.0).view(5, 2), None, "mode")


def test_taking_keeps_tensors_of_some_tokens_and_everything_else() -> None:
    part = memory().take(torch.tensor([4, 1]))
    assert part.depth.tolist() == [4, 1]
    assert part.view.tolist() == [[8, 9], [2, 3]]
    assert (part.nothing, part.rule) == (None, "mode")


def test_what_was_taken_can_be_put_back() -> None:
    whole, index = memory(), torch.tensor([4, 1])
    part = whole.take(index)
    part.depth = part.depth + 100
    whole.put(index, part)
    assert whole.depth.tolist() == [0, 101, 2, 3, 104]
    assert torch.equal(whole.view, memory().view)


def test_passthrough_with_zero_or_one_copies_to_the_bit() -> None:
    generator = torch.Generator().manual_seed(0)
    h, candidate = torch.randn(2, 1000, 3, generator=generator)
    run = torch.rand(1000, generator=generator) < 0.5
    expected = torch.where(run[:, None], candidate, h)
    assert torch.equal(passthrough(h, candidate, Route(run)), expected)
    assert torch.equal(passthrough(h, candidate, Route(run, run.float())), expected)


def test_a_weight_mixes_the_old_and_the_new_state() -> None:
    mixed = passthrough(torch.zeros(1, 2), torch.ones(1, 2), Route(torch.tensor([True]), torch.tensor([0.25])))
    assert mixed.tolist() == [[0.25, 0.25]]


@pytest.mark.parametrize("value", [1.0, float("nan"), float("inf")])
def test_padding_is_left_out_whatever_its_value(value: float) -> None:
    values, valid = torch.tensor([[2.0, 4.0, value]]), torch.tensor([[True, True, False]])
    zero = torch.zeros(1, 1, 3)
    task = TaskLoss(ce=zero, answer_mask=valid, valid=valid, num_valid_tokens=8)
    assert task.mean_over_valid(values).item() == 0.75
