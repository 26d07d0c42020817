"""The Depth-Adaptive Transformer: the oracle on planted losses, both ways to train, three deciders, all executions."""

from typing import Any

import pytest
import torch
from tests.models_support import Case, noise_for, random_ids
from tests.unit.models.policies.hazard_support import (
    DEPTH,
    assert_all_ways_agree,
    assert_decisions_are_those_made,
    assert_exit_policy,
    assert_slots_are_those_held,
    case_of,
    config_of,
    flat_context,
    training_model,
)
from torch import Tensor
from torch.nn.functional import cross_entropy

from anira.config import UserError
from anira.models import AniraForCausalLM
from anira.models.backbone import run_layers
from anira.models.policies import TaskLoss, resolve_policy

MULTINOMIAL: dict[str, Any] = {"name": "depth-adaptive"}
GEOMETRIC: dict[str, Any] = {**MULTINOMIAL, "decider": "geometric"}
CONFIDENCE: dict[str, Any] = {**MULTINOMIAL, "decider": "confidence"}
learned = pytest.mark.parametrize("policy", [MULTINOMIAL, GEOMETRIC], ids=["multinomial", "geometric"])


def oracle(ce: Tensor, right: Tensor | None = None, rows: Tensor | None = None, **options: Any) -> Tensor:
    """Return the oracle's exits on planted cross-entropies (depth, batch, time), of which all are answers."""
    shape = ce.shape[1:]
    policy = AniraForCausalLM(config_of({**MULTINOMIAL, **options})).policy.double()
    answers = torch.ones(shape, dtype=torch.bool)
    positions = torch.arange(shape[1]).expand(shape)
    rows = torch.arange(shape[0])[:, None].expand(shape) if rows is None else rows
    ctx = flat_context(1, valid=answers, positions=positions, rows=rows, training=True, max_depth=len(ce))
    state = policy.begin(torch.zeros(*shape, 16).double(), ctx)
    logits = None if right is None else torch.stack([right.logical_not(), right], -1).double()  # token 1 is right
    targets = torch.ones(shape, dtype=torch.long)
    task = TaskLoss(ce=ce, answer_mask=answers, valid=answers, num_valid_tokens=1.0, targets=targets, logits=logits)
    return policy.oracle(state, task)


def planted(*curves: list[float]) -> Tensor:
    """Return (depth, 1, time) from one curve over depths for each token."""
    return torch.tensor(curves, dtype=torch.float64).T[:, None]


def test_the_oracle_weighs_likelihood_against_the_price() -> None:
    ce = planted([1, 1, 1, 1, 1], [2, 0.1, 0.1, 0, 0], [2, 1.9, 1.8, 0.1, 0], [1, 0.97, 0.9, 0.8, 0.75])
    assert oracle(ce, price=0.01).tolist() == [[1, 4, 5, 5]]
    assert oracle(ce, price=0.07).tolist() == [[1, 2, 5, 1]]
    assert oracle(ce, price=0.2).tolist() == [[1, 2, 4, 1]]
    assert oracle(ce, price=5.0).tolist() == [[1, 1, 1, 1]]


def test_the_oracle_weighs_correctness_against_the_price() -> None:
    right = torch.tensor([[0, 0, 0, 0, 0], [0, 1, 0, 1, 1], [0, 0, 0, 0, 1]]).bool().T[:, None]
    ce = torch.zeros(DEPTH, 1, 3).double()
    assert oracle(ce, right, oracle="correctness", price=0.1).tolist() == [[1, 2, 5]]
    assert oracle(ce, right, oracle="correctness", price=0.3).tolist() == [[1, 2, 1]]


def test_neighbours_of_the_same_sequence_count_by_their_distance() -> None:
    ce = planted([0.5] * 5, [0.5] * 5, [2, 0, 0, 0, 0], [0.5] * 5)
    # At distances 0, 1, 2 a gain of 2 counts as 2, 0.736 and 0.037 (sigma 1); the second depth costs 0.1.
    assert oracle(ce, price=0.1).tolist() == [[1, 1, 2, 1]]
    assert oracle(ce, price=0.1, sigma=1.0).tolist() == [[1, 2, 2, 2]]
    apart = torch.tensor([[0, 0, 1, 1]])  # packed end to end: the second sequence begins at the third token
    assert oracle(ce, rows=apart, price=0.1, sigma=1.0).tolist() == [[1, 1, 2, 2]]


@learned
def test_aligned_training_averages_depths_and_imitates_the_oracle(policy: dict[str, Any]) -> None:
    model, ids, labels = training_model({**policy, "alpha": 0.3, "price": 0.2})
    out = model(ids, labels=labels)
    answers = labels[:, 1:] >= 0
    logits = [model(ids, exit_depth=d).logits for d in range(1, DEPTH + 1)]
    ce = torch.stack([cross_entropy(x[:, :-1].mT, labels[:, 1:], reduction="none") for x in logits], -1)
    torch.testing.assert_close(out.losses["ce"], ce.mean(-1)[answers].mean())
    target = (-ce - 0.2 * torch.arange(1, DEPTH + 1)).argmax(-1)
    assert len(target[answers].unique()) >= 2
    nll = -out.exit_log_probs[:, :-1].gather(-1, target[..., None])[..., 0]
    torch.testing.assert_close(out.losses["oracle"], 0.3 * nll[answers].mean())
    assert (out.executed == DEPTH).all()
    for depth in out.exit_depth.unique().tolist():
        same = out.exit_depth == depth
        torch.testing.assert_close(out.logits[same], logits[depth - 1][same], rtol=0, atol=1e-9)


@learned
def test_mixed_training_draws_exits_and_learns_where_all_depths_are_known(policy: dict[str, Any]) -> None:
    model, ids, labels = training_model({**policy, "training": "mixed", "alpha": 0.3, "price": 0.2})
    noise = noise_for(model, ids, step=1)  # in step 0 no answer has the last depth
    out = model(ids, labels=labels, noise=noise, output_iteration_states=True)
    drawn = torch.floor(noise[..., 0] * DEPTH).long() + 1
    assert torch.equal(out.exit_depth, drawn) and torch.equal(out.executed, drawn)
    # States are those of tokens frozen at their drawn exits. Each depth is read out by the coda as a batch of its own.
    rope = model.model.rope(out.iteration_states[0], torch.arange(ids.shape[1])[None])
    logits = [model.head_logits(run_layers(model.model.coda, h, None, rope)) for h in out.iteration_states[1:]]
    ce = torch.stack([cross_entropy(x[:, :-1].mT, labels[:, 1:], reduction="none") for x in logits], -1)
    answers, exit_index = labels[:, 1:] >= 0, drawn[:, :-1, None] - 1
    torch.testing.assert_close(out.losses["ce"], ce.gather(-1, exit_index)[..., 0][answers].mean())
    target = (-ce - 0.2 * torch.arange(1, DEPTH + 1)).argmax(-1)
    nll = -out.exit_log_probs[:, :-1].gather(-1, target[..., None])[..., 0]
    known = answers & (drawn[:, :-1] == DEPTH)
    assert known.any()
    torch.testing.assert_close(out.losses["oracle"], 0.3 * DEPTH * nll[known].sum() / answers.sum())


def test_drawn_exits_are_uniform() -> None:
    model, _, _ = training_model({**CONFIDENCE, "training": "mixed"})
    ids = torch.full((4000, 1), 7)
    counts = model(ids, noise=noise_for(model, ids)).exit_depth.flatten().bincount(minlength=6)[1:]
    assert counts.min() > 700 and counts.max() < 900


@learned
def test_gradient_reaches_the_decider(policy: dict[str, Any]) -> None:
    for training in ("aligned", "mixed"):
        model, ids, labels = training_model({**policy, "training": training, "detach": True})
        losses = model(ids, labels=labels, noise=noise_for(model, ids, step=1) if training == "mixed" else None).losses
        losses["oracle"].backward()
        assert model.policy.decider.up.weight.grad.abs().max() > 0
        assert all(p.grad is None for name, p in model.named_parameters() if not name.startswith("policy."))


def test_confidence_learns_nothing_and_is_read_out_by_the_head() -> None:
    model, ids, labels = training_model(CONFIDENCE)
    assert not list(model.policy.parameters())
    out = model(ids, labels=labels, threshold=0.4, output_iteration_states=True)
    assert set(out.losses) == {"ce"}
    confident = torch.stack([model.head_logits(h).softmax(-1).amax(-1) >= 0.4 for h in out.iteration_states[1:]], -1)
    confident[..., -1] = True
    assert torch.equal(out.exit_depth, confident.long().argmax(-1) + 1)
    states = torch.stack(out.iteration_states, 2)
    z = torch.take_along_dim(states, out.exit_depth[..., None, None], 2)[:, :, 0]
    torch.testing.assert_close(out.logits, model.head_logits(z), rtol=0, atol=1e-9)


def test_the_geometric_decider_exits_at_the_first_high_hazard() -> None:
    case = case_of(GEOMETRIC)
    for level in (None, 0.2, 0.9):
        out = case.parallel(exits="virtual", threshold=level, output_iteration_states=True)
        hazard = torch.stack([case.model.policy.decider(h)[..., 0].sigmoid() for h in out.iteration_states[1:]], -1)
        halts = hazard >= (0.5 if level is None else level)
        halts[..., -1] = True
        assert torch.equal(out.exit_depth[case.valid], (halts.long().argmax(-1) + 1)[case.valid])
    assert (case.parallel(threshold=1.0).exit_depth[case.valid] == DEPTH).all()
    assert (case.parallel(threshold=0.0).exit_depth[case.valid] == 1).all()


@learned
@pytest.mark.parametrize("backbone", [{"num_core_layers": 2}, {"shared_core": False}], ids=str)
def test_all_executions_agree(policy: dict[str, Any], backbone: dict[str, Any]) -> None:
    case = case_of(policy, **backbone)
    assert_exit_policy(case)
    assert_decisions_are_those_made(case)
    case.settings = {"exits": "virtual"}
    assert_all_ways_agree(case)


@pytest.mark.parametrize("backbone", [{"num_coda_layers": 1}, {"num_coda_layers": 0, "num_core_layers": 2}], ids=str)
def test_all_executions_agree_on_confidence(backbone: dict[str, Any]) -> None:
    case = case_of(CONFIDENCE, settings={"threshold": 0.5}, **backbone)
    assert_all_ways_agree(case)
    assert_slots_are_those_held(case)
    made = []
    hook = case.model.lm_head.register_forward_hook(lambda _, args, out: made.append(args[0][..., 0].numel()))
    executed = case.one_by_one().executed
    hook.remove()
    decisions = case.model.policy.num_decisions(executed[case.valid], DEPTH).sum()
    assert sum(made) == decisions + case.ids.numel()  # each token is read out once
    assert case.model.policy.decision_flops() == 2 * 16 * 20


@pytest.mark.parametrize("policy", [MULTINOMIAL, GEOMETRIC, CONFIDENCE], ids=lambda policy: policy.get("decider", ""))
def test_all_executions_agree_on_drawn_exits(policy: dict[str, Any]) -> None:
    model, ids, _ = training_model({**policy, "training": "mixed"})
    out = assert_all_ways_agree(Case(model.eval(), ids, per_token={"noise": noise_for(model, ids)}))
    assert torch.equal(out.executed, out.exit_depth) and len(out.executed.unique()) == DEPTH


def test_every_decider_has_its_own_rules() -> None:
    chosen = [AniraForCausalLM(config_of(policy)).policy.rule() for policy in (MULTINOMIAL, GEOMETRIC, CONFIDENCE)]
    assert chosen == [("mode", None), ("hazard", 0.5), ("confidence", 0.9)]
    model = AniraForCausalLM(config_of(GEOMETRIC))
    with pytest.raises(UserError, match=r"'depth-adaptive' has no rule 'median'.*hazard"):
        model(random_ids(1, 3), select="median")


@pytest.mark.parametrize(
    "wrong", [{"alpha": -1.0}, {"price": -1.0}, {"sigma": -1.0}, {"decider": "poisson"}, {"oracle": "none"}], ids=str
)
def test_bad_options_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=next(iter(wrong))):
        resolve_policy({**MULTINOMIAL, **wrong})
