import pytest
import torch
from tests.models_support import noise_for, random_ids, random_model, small_config
from torch import Tensor
from torch.nn.functional import log_softmax

from anira.models import AniraForCausalLM, AniraOutput, exits

POLICIES = ["anira-e", "anira-o", "similarity", "fixed"]
every_policy = pytest.mark.parametrize("policy", POLICIES)


def some_labels(ids: Tensor) -> Tensor:
    """Return the labels of rows whose answers have different lengths, and one row without an answer."""
    start = 5 + torch.arange(len(ids))[:, None]
    answers = (torch.arange(ids.shape[1]) >= start) & (torch.arange(len(ids)) < len(ids) - 1)[:, None]
    return torch.where(answers, ids, -100)


def run(model: AniraForCausalLM, ids: Tensor, **arguments: object) -> AniraOutput:
    return model.train()(ids, labels=some_labels(ids), noise=noise_for(model, ids), **arguments)


def gradients(model: AniraForCausalLM, *losses: Tensor) -> list[Tensor]:
    model.zero_grad()
    for loss in losses:
        loss.backward()
    return [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]


@every_policy
def test_the_loss_is_the_sum_of_its_parts(policy: str) -> None:
    out = run(random_model(small_config(policy)), random_ids(4, 12))
    second = {"fixed": set(), "similarity": {"price"}}.get(policy, {"compute"})
    assert set(out.losses) == {"ce", *second}
    assert out.loss.item() == pytest.approx(sum(part.item() for part in out.losses.values()), abs=1e-12)


@every_policy
def test_cross_entropy_is_that_of_the_next_answer_token(policy: str) -> None:
    ids = random_ids(4, 12)
    out, labels = run(random_model(small_config(policy)), ids), some_labels(ids)
    log_probs = log_softmax(out.logits, dim=-1)
    by_hand = [
        -log_probs[row, column - 1, labels[row, column]].item()
        for row in range(4)
        for column in range(1, 12)
        if labels[row, column] != -100
    ]
    assert out.losses["ce"].item() == pytest.approx(sum(by_hand) / len(by_hand), abs=1e-12)


def test_a_label_at_the_first_position_has_nothing_that_predicts_it() -> None:
    model, ids = random_model(small_config("fixed")), random_ids(2, 6)
    with_first, without = ids.clone(), ids.clone()
    without[:, 0] = -100
    assert model(ids, labels=with_first).loss == model(ids, labels=without).loss


@pytest.mark.parametrize(
    ("policy", "base", "gamma"), [("anira-e", 1.25, 0.1), ("anira-o", 2.0, 0.3), ("anira-o", 1.0, 1.0)]
)
def test_the_compute_part_is_gamma_times_the_mean_kl(policy: str, base: float, gamma: float) -> None:
    model, ids = random_model(small_config(policy, options={"base": base, "gamma": gamma})), random_ids(4, 12)
    out = run(model, ids)
    kl = exits.kl_divergence(out.exit_log_probs, exits.log_prior(5, base, out.exit_log_probs))
    assert out.losses["compute"].item() == pytest.approx(gamma * kl.mean().item(), rel=1e-12)


@pytest.mark.parametrize("policy", ["anira-e", "anira-o", "similarity"])
def test_the_compute_part_leaves_padding_out(policy: str) -> None:
    """Right-padded rows with `valid_mask`, or any with `attention_mask`: the loss is that of the tokens."""
    model, ids = random_model(small_config(policy)), random_ids(3, 10)
    name = "price" if policy == "similarity" else "compute"
    alone = run(model, ids).losses
    padded = torch.cat([ids, random_ids(3, 4, seed=5)], dim=1)
    labels = torch.cat([some_labels(ids), torch.full((3, 4), -100)], dim=1)
    valid = (torch.arange(14) < 10).expand(3, -1)
    noise = noise_for(model, padded)
    for masks in ({"valid_mask": valid}, {"attention_mask": valid.long()}, {"valid_mask": valid.long()}):
        losses = model(padded, labels=labels, noise=noise, **masks).losses
        torch.testing.assert_close(losses["ce"], alone["ce"], rtol=1e-12, atol=0)
        torch.testing.assert_close(losses[name], alone[name], rtol=1e-12, atol=0)
    assert model(padded, labels=labels, noise=noise).losses[name] != alone[name]


@pytest.mark.parametrize("policy", ["anira-e", "anira-o", "similarity"])
def test_parts_of_a_batch_add_up_to_the_whole(policy: str) -> None:
    """With the counts of the global batch, whatever is in each part; so gradients may be accumulated."""
    model, ids = random_model(small_config(policy)).train(), random_ids(4, 12)
    valid = torch.arange(12) < torch.tensor([[12], [7], [9], [11]])
    batch = {"input_ids": ids, "labels": some_labels(ids), "valid_mask": valid, "noise": noise_for(model, ids)}
    counts = {"num_answer_tokens": (batch["labels"][:, 1:] != -100).sum(), "num_valid_tokens": valid.sum()}
    cuts = [{name: value[rows] for name, value in batch.items()} for rows in (slice(0, 1), slice(1, 4))]
    whole, parts = model(**batch), [model(**cut, **counts) for cut in cuts]
    for name, part in whole.losses.items():
        torch.testing.assert_close(part, sum(half.losses[name] for half in parts), rtol=1e-12, atol=1e-14)
    expected, summed = gradients(model, whole.loss), gradients(model, *(half.loss for half in parts))
    torch.testing.assert_close(summed, expected, rtol=1e-9, atol=1e-12)
    own_counts = sum(model(**cut).loss for cut in cuts) / 2
    assert not torch.isclose(own_counts, whole.loss)  # a mean of means is something else


@pytest.mark.parametrize("policy", ["anira-e", "anira-o"])
def test_gamma_can_be_scaled_from_outside(policy: str) -> None:
    model, ids = random_model(small_config(policy)), random_ids(4, 12)
    full, half, none = (run(model, ids, gamma_scale=scale).losses for scale in (1.0, 0.5, torch.tensor(0.0)))
    assert half["compute"].item() == pytest.approx(full["compute"].item() / 2, rel=1e-12)
    assert none["compute"].item() == 0
    assert full["ce"] == half["ce"] == none["ce"]


def test_rows_without_any_answer_cost_nothing() -> None:
    model, ids = random_model(small_config("fixed")), random_ids(2, 6)
    out = model(ids, labels=torch.full_like(ids, -100))
    assert out.loss.item() == 0


@pytest.mark.parametrize("policy", ["anira-e", "anira-o", "similarity", "gates"])
def test_every_parameter_learns(policy: str) -> None:
    model, ids = random_model(small_config(policy, injection="concat-linear")), random_ids(4, 12)
    run(model, ids).loss.backward()
    assert all(p.grad is not None and p.grad.abs().max() > 0 for p in model.parameters())


@pytest.mark.parametrize("policy", ["anira-e", "anira-o", "similarity", "gates"])
def test_a_few_optimizer_steps_lower_the_loss(policy: str) -> None:
    model, ids = random_model(small_config(policy)), random_ids(4, 12)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(30):
        loss = run(model, ids).loss
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert losses[-1] < 0.7 * losses[0]
