"""Mixture-of-Recursions by token choice: top-1 from the prelude's output, a gated readout, balanced depths."""

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.models_support import TOLERANCE, random_ids
from tests.routing_support import (
    assert_conforms,
    assert_executions_agree,
    config_of,
    model_of,
    training_loss,
    various_case,
)
from torch import Tensor

from anira.config import UserError
from anira.models import AniraForCausalLM
from anira.models.policies import Context, TaskLoss

NAME = "mor-token"
BACKBONES: dict[str, dict[str, Any]] = {
    "state": {},
    "kv-2": {"num_core_layers": 2},
    "unshared-add": {"shared_core": False, "injection": "add"},
}


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("keys", ["recursion", "all"])
def test_conforms(keys: str, backbone: str) -> None:
    assert_conforms(various_case(config_of(NAME, {"keys": keys}, **BACKBONES[backbone]), padded=True))


def test_virtual_exits_and_fewer_iterations() -> None:
    for settings in ({"exits": "virtual"}, {"max_depth": 3}):
        assert_executions_agree(various_case(config_of(NAME), **settings))


@pytest.mark.parametrize("forced", [None, 2])
def test_what_is_read_out(forced: int | None) -> None:
    """Without a coda the logits are those of h0 + g * h, g the probability of the depth that was run."""
    case = various_case(config_of(NAME, num_coda_layers=0))
    model = case.model
    out = case.parallel(exit_depth=forced, output_iteration_states=True)
    h0, last = out.iteration_states[0], out.iteration_states[-1]
    probs = torch.softmax(h0 @ model.policy.router.out.weight.T, dim=-1)
    depth = probs.argmax(-1) + 1 if forced is None else torch.full_like(out.executed, forced)
    assert torch.equal(out.executed, depth)
    gate = probs.gather(-1, depth[..., None] - 1)
    expected = model.lm_head(model.model.norm(h0 + gate * last))
    torch.testing.assert_close(out.logits, expected, rtol=0, atol=TOLERANCE)
    torch.testing.assert_close(out.exit_log_probs.exp(), probs)


def planted(choices: list[int], num_valid: int, known: dict[str, Tensor] | None = None) -> tuple[Any, TaskLoss]:
    """Return logits that choose these depths (0 is padding), and a task of as many tokens."""
    depths = torch.tensor([choices])
    valid = depths > 0
    logits = 3.0 * torch.nn.functional.one_hot((depths - 1).clamp(min=0), 5).double()
    task = TaskLoss(
        ce=torch.zeros(1, *depths.shape),
        answer_mask=valid,
        valid=valid,
        num_valid_tokens=torch.tensor(num_valid),
        known_means=known,
    )
    return logits, task


def losses_of(options: dict[str, Any], choices: list[int], num_valid: int, known: Any = None) -> tuple[Any, TaskLoss]:
    policy = model_of(NAME, options, hidden_size=20).policy
    policy.router.out.weight.data = torch.eye(5, 20, dtype=torch.float64)
    logits, task = planted(choices, num_valid, known)
    h0 = torch.cat([logits] * 4, dim=-1)
    zeros = torch.zeros_like(task.valid, dtype=torch.long)
    state = policy.begin(h0, Context(valid=task.valid, positions=zeros, rows=zeros, max_depth=5, training=True))
    return policy.loss(state, task), task


def test_balancing_planted_loads() -> None:
    """All with one depth cost D times its probability; equal loads cost 1; both times the coefficient."""
    certain = torch.softmax(torch.tensor([3.0, 0, 0, 0, 0]), 0)[0].item()
    assert losses_of({}, [2] * 6, 6)[0]["balance"].item() == pytest.approx(0.1 * 5 * certain)
    assert losses_of({}, [1, 2, 3, 4, 5, 0, 0], 5)[0]["balance"].item() == pytest.approx(0.1)


def test_the_balancing_loss_is_the_same_in_one_part_and_in_two() -> None:
    parts = [[1, 1, 1, 2], [5, 2, 0, 0]]
    whole, _ = losses_of({}, parts[0] + parts[1], 6)
    sums = [losses_of({}, part, 6)[1].sums["load"] for part in parts]
    means = {"load": (sums[0] + sums[1]) / 6}
    cut = [losses_of({}, part, 6, means)[0] for part in parts]
    for name in ("balance", "z"):
        torch.testing.assert_close(cut[0][name] + cut[1][name], whole[name])
    alone = sum(losses_of({}, part, 6)[0]["balance"] for part in parts)
    assert abs(alone - whole["balance"]) > 1e-3


def test_large_logits_cost() -> None:
    z = losses_of({"z_coefficient": 0.5}, [1, 0], 1)[0]["z"].item()
    assert z == pytest.approx(0.5 * torch.tensor([3.0, 0, 0, 0, 0]).logsumexp(0).item() ** 2)


def test_the_bias_moves_towards_rare_depths_and_changes_choices_only() -> None:
    model = model_of(NAME, {"balance": "bias", "bias_rate": 0.25})
    out = training_loss(model)
    assert set(out.losses) == {"ce", "z"}
    load = out.mean_sums["load"] / 42
    assert load.tolist() == [(out.executed == d).double().mean().item() for d in range(1, 6)]
    model.policy.after_step({"load": load})
    assert model.policy.bias.tolist() == [0.25 if share < 0.2 else -0.25 for share in load.tolist()]
    ids = random_ids(2, 8)
    model.eval()
    with torch.no_grad():
        model.policy.bias.copy_(torch.tensor([0.0, 0, 100.0, 0, 0]))
        biased, forced = model(ids), model(ids, exit_depth=3)
    assert (biased.executed == 3).all()
    torch.testing.assert_close(biased.logits, forced.logits)  # the gate knows nothing of the bias
    torch.testing.assert_close(biased.exit_log_probs, forced.exit_log_probs)


def test_the_bias_is_saved(tmp_path: Path) -> None:
    model = AniraForCausalLM(config_of(NAME, {"balance": "bias"}))
    model.policy.bias.copy_(torch.arange(5.0))
    model.save_pretrained(tmp_path)
    assert AniraForCausalLM.from_pretrained(tmp_path).policy.bias.tolist() == [0, 1, 2, 3, 4]


def test_a_bias_holds_loads_level_where_logits_do_not() -> None:
    """A router that prefers the first depth is brought to equal loads by the bias alone."""
    policy = model_of(NAME, {"balance": "bias", "bias_rate": 0.05}, hidden_size=20).policy
    h0 = torch.randn(1, 500, 20, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    h0[..., 0] += 3
    policy.router.out.weight.data = torch.eye(5, 20, dtype=torch.float64)
    zeros = torch.zeros(1, 500, dtype=torch.long)
    ctx = Context(valid=zeros == 0, positions=zeros, rows=zeros, max_depth=5, training=True)
    loads = []
    for _ in range(150):
        depth = policy.begin(h0, ctx).exit_depth
        loads.append(torch.bincount(depth.flatten() - 1, minlength=5) / 500)
        policy.after_step({"load": loads[-1]})
    assert loads[0].max() > 0.9
    assert loads[-1].max() < 0.3


@pytest.mark.parametrize("balance", ["loss", "bias", "none"])
def test_gradient_reaches_the_router(balance: str) -> None:
    model = model_of(NAME, {"balance": balance, "z_coefficient": 0.0})
    assert model.policy.uses_global_means == (balance != "none")
    training_loss(model)
    assert model.policy.router.out.weight.grad.abs().max() > 0


def test_one_decision() -> None:
    policy = model_of(NAME).policy
    assert policy.decision_flops() == 2 * 16 * 5
    assert policy.num_decisions(torch.tensor([1, 5]), 5).tolist() == [1, 1]


@pytest.mark.parametrize("name", ["coefficient", "bias_rate", "z_coefficient"])
def test_bad_options(name: str) -> None:
    with pytest.raises(UserError, match=name):
        config_of(NAME, {name: -1.0})
    with pytest.raises(UserError, match="balance"):
        config_of(NAME, {"balance": "luck"})
