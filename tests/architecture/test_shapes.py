"""Shapes are checked while tests run: a wrong one raises at the border of the function that declares it."""

import pytest
import torch
from beartype.roar import BeartypeCallHintParamViolation, BeartypeCallHintReturnViolation
from jaxtyping import Float
from tests.models_support import random_model, small_config
from tests.type_checks import checked
from torch import Tensor

from anira.models.exits import expected_depth
from anira.models.policies import Route


def transposed(x: Float[Tensor, "rows columns"]) -> Float[Tensor, "columns rows"]:
    return x if x.shape[0] == 1 else x.T  # wrong for a single row


def test_a_wrong_type_of_number_raises() -> None:
    with pytest.raises(BeartypeCallHintParamViolation, match="dtype"):
        expected_depth(torch.ones(2, 5, dtype=torch.long))


def test_arguments_that_disagree_about_an_axis_raise() -> None:
    backbone = random_model(small_config("fixed")).model
    h = torch.ones(3, 16, dtype=torch.float64)
    assert backbone.inject(h, h) is h
    with pytest.raises(BeartypeCallHintParamViolation, match="h0"):
        backbone.inject(h, h[:2])


def test_a_result_that_disagrees_with_the_arguments_raises() -> None:
    function = checked(transposed)
    assert function(torch.ones(2, 3)).shape == (3, 2)
    with pytest.raises(BeartypeCallHintReturnViolation):
        function(torch.ones(1, 3))


def test_every_result_is_checked_of_arguments_that_look_alike_too() -> None:
    results = iter([torch.ones(2, 3), torch.ones(2, 3), torch.ones(3, 2)])

    def drawn(x: Float[Tensor, "rows columns"]) -> Float[Tensor, "rows columns"]:
        return next(results)

    function = checked(drawn)
    assert [function(torch.ones(2, 3)).shape for _ in range(2)] == [(2, 3), (2, 3)]
    with pytest.raises(BeartypeCallHintReturnViolation):
        function(torch.ones(2, 3))


def test_fields_that_disagree_raise() -> None:
    run = torch.ones(3, dtype=torch.bool)
    Route(run, run.float())
    with pytest.raises(BeartypeCallHintParamViolation, match="weight"):
        Route(run, torch.ones(4))
