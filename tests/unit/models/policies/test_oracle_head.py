"""The oracle of loss and compute on planted losses, and both executions."""

import pytest
import torch
from tests.unit.models.policies.criteria_support import (
    assert_all_ways_agree,
    assert_own_depths_forced_change_nothing,
    case_of,
    config_of,
    training_batch,
)
from torch import Tensor

from anira.config import UserError
from anira.models import AniraForCausalLM
from anira.models.policies import TaskLoss


def model_of(**options: float) -> AniraForCausalLM:
    torch.manual_seed(0)
    config = config_of({"name": "oracle-head", **options}, initializer_range=0.4)
    return AniraForCausalLM(config).double().train()


def task_of(ce: Tensor, scale: float = 1.0) -> TaskLoss:
    tokens = torch.ones(ce.shape[1:], dtype=torch.bool)
    return TaskLoss(ce=ce, answer_mask=tokens, valid=tokens, num_valid_tokens=tokens.sum(), scale=scale)


@pytest.mark.parametrize("floor", [1, 2, 4])
@pytest.mark.parametrize("price", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_the_oracle_halts_from_the_cheapest_depth_on(floor: int, price: float, scale: float) -> None:
    ce = torch.rand(5, 3, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    ce[3, 0] = ce[4, 0]  # ties are the smaller depth's
    halts = model_of(floor=floor, price=price).policy.halts(task_of(ce, scale))
    for row in range(3):
        for column in range(7):
            costs = [ce[d - 1, row, column].item() + price * scale * d for d in range(floor, 6)]
            best = floor + costs.index(min(costs))
            assert halts[:, row, column].tolist() == [d >= best for d in range(1, 6)]


def test_both_executions_agree() -> None:
    case = case_of("oracle-head", padded=True)
    assert int(assert_all_ways_agree(case).executed[case.valid].min()) == 2
    assert_own_depths_forced_change_nothing(case)


def test_the_head_learns_the_oracle_of_a_fixed_model() -> None:
    model = model_of(floor=1, price=0.02, prompt="none")
    batch = training_batch(model)
    optimizer = torch.optim.Adam(model.policy.parameters(), lr=0.02)
    for _ in range(60):
        optimizer.zero_grad()
        out = model(**batch)
        out.losses["imitation"].backward()
        optimizer.step()
    ce = task_ce(model, batch)
    answers = batch["labels"][:, 1:] != -100
    best = (ce + 0.02 * torch.arange(1, 6)[:, None, None]).argmin(0) + 1
    assert (out.exit_depth[:, :-1][answers] == best[answers]).double().mean() > 0.9
    assert len(best[answers].unique()) > 1


def task_ce(model: AniraForCausalLM, batch: dict[str, Tensor]) -> Tensor:
    model.eval()
    logits = torch.stack([model(batch["input_ids"], exit_depth=d).logits[:, :-1] for d in range(1, 6)])
    targets = batch["labels"][:, 1:].clamp(min=0).expand(5, -1, -1)
    return -logits.log_softmax(-1).gather(-1, targets[..., None])[..., 0]


def test_nonsense_is_refused() -> None:
    with pytest.raises(UserError, match="price"):
        model_of(price=-1.0)
