"""Depths that know nothing of difficulty: their laws and tables, and both executions."""

from typing import Any

import pytest
import torch
from scipy import stats
from tests.models_support import random_ids
from tests.unit.models.policies.criteria_support import (
    assert_all_ways_agree,
    assert_own_depths_forced_change_nothing,
    case_of,
    config_of,
    training_batch,
)
from torch import Tensor
from torch.nn.functional import cross_entropy

from anira.config import UserError
from anira.models import AniraForCausalLM
from anira.models.noise import token_noise, uniform_noise

TABLES = {
    "random": {"name": "random"},
    "random-position": {"name": "random", "per": "position"},
    "position": {"name": "position"},
    "token-type": {"name": "token-type"},
}


def model_of(policy: Any, **changes: Any) -> AniraForCausalLM:
    torch.manual_seed(0)
    return AniraForCausalLM(config_of(policy, **changes)).double().eval()


def depths(policy: Any, ids: Tensor) -> Tensor:
    with torch.no_grad():
        return model_of(policy)(ids).exit_depth


@pytest.mark.parametrize("name", TABLES)
def test_both_executions_agree(name: str) -> None:
    case = case_of(TABLES[name], padded=True)
    # Random depths of a token belong to its row of the batch.
    assert_all_ways_agree(case, rows_alone=name != "random")
    assert_own_depths_forced_change_nothing(case)


@pytest.mark.parametrize("probs", [(), (0.5, 0.0, 0.1, 0.15, 0.25)])
def test_random_depths_have_the_given_distribution(probs: tuple[float, ...]) -> None:
    found = torch.bincount(depths({"name": "random", "probs": probs}, random_ids(2, 2000)).flatten(), minlength=6)[1:]
    expected = torch.tensor(probs or [0.2] * 5, dtype=torch.float64) * 4000
    there = expected > 0
    assert (found[~there] == 0).all()
    assert stats.chisquare(found[there], expected[there]).pvalue > 1e-3


def test_random_depths_of_rows_positions_and_seeds_are_unrelated() -> None:
    ids = random_ids(30, 100)
    one, other = (depths({"name": "random", "seed": seed}, ids).double() for seed in (0, 1))
    for pair in ((one, other), (one[:, 1:], one[:, :-1]), (one[1:], one[:-1])):
        x, y = (value - value.mean() for value in pair)
        assert abs(float((x * y).mean() / (x.std() * y.std()))) < 0.06
    same = depths({"name": "random", "per": "position"}, ids)
    assert (same == same[:1]).all()


def test_in_training_depths_come_from_the_noise() -> None:
    model = model_of("random").train()
    ids = random_ids(2, 9)
    noise = torch.linspace(0.01, 0.99, 18).view(2, 9, 1)
    assert torch.equal(model(ids, noise=noise).exit_depth, (noise[..., 0] * 5).long() + 1)


def test_noise_of_single_tokens_is_that_of_a_grid() -> None:
    rows, positions = torch.arange(4), torch.arange(6)
    grid = uniform_noise(seed=5, step=0, rows=rows, positions=positions, width=1)[..., 0]
    tokens = token_noise(seed=5, rows=rows.repeat_interleave(6), positions=positions.repeat(4))
    assert torch.equal(grid.flatten(), tokens)


def test_positions_have_a_line_or_a_table() -> None:
    ids = random_ids(2, 12)
    assert depths("position", ids)[0].tolist() == [1, 1, 2, 2, 3, 3, 3, 4, 4, 5, 5, 5]  # 1 + 0.4 position, rounded
    table = depths({"name": "position", "depths": [4, 9, 2]}, ids)
    assert table.tolist() == [[4, 5, *[2] * 10]] * 2


def test_tokens_have_a_table_of_their_own() -> None:
    ids = torch.tensor([[0, 1, 2, 1, 7]])
    assert depths({"name": "token-type", "depths": [3, 1, 5]}, ids).tolist() == [[3, 1, 5, 1, 5]]
    drawn = depths("token-type", torch.arange(20)[None])
    assert torch.equal(depths("token-type", torch.arange(20).flip(0)[None]), drawn.flip(1))
    assert set(drawn.flatten().tolist()) == {1, 2, 3, 4, 5}
    with pytest.raises(UserError, match="call the model with input_ids"):
        model_of("token-type")(inputs_embeds=torch.zeros(1, 3, 16, dtype=torch.float64))


def test_deep_supervision_is_the_mean_over_all_depths() -> None:
    model = model_of("deep-supervised")
    batch = training_batch(model)
    targets = batch["labels"][:, 1:].flatten()
    with torch.no_grad():
        each = [model(batch["input_ids"], exit_depth=d).logits[:, :-1].flatten(0, 1) for d in range(1, 6)]
        whole = model(batch["input_ids"])
        out = model.train()(**batch)
    assert out.loss.item() == pytest.approx(sum(float(cross_entropy(logits, targets)) for logits in each) / 5)
    torch.testing.assert_close(out.logits, whole.logits, rtol=0, atol=1e-12)  # the answer is the last depth's
    assert (whole.exit_depth == 5).all() and (whole.executed == 5).all()


def test_deep_supervision_decodes_as_a_fixed_depth_does() -> None:
    ids = random_ids(2, 8)
    model, fixed = model_of("deep-supervised"), model_of("fixed")
    fixed.load_state_dict(model.state_dict())
    with torch.no_grad():
        for settings in ({}, {"use_cache": True}, {"max_depth": 7}):
            assert torch.equal(model(ids, **settings).logits, fixed(ids, **settings).logits)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({"name": "random", "probs": [0.5, 0.6]}, "must sum to 1"),
        ({"name": "random", "probs": [0.5, 0.5]}, "for each depth up to 5"),
        ({"name": "position", "depths": [0, 1]}, "depths must be at least 1"),
        ({"name": "token-type", "depths": [2, 0]}, "depths must be at least 1"),
    ],
)
def test_nonsense_is_refused(policy: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        model_of(policy)
