"""Learn-then-Test: p-values against simulation, the promise on planted risks, and a model's own consistency."""

import math

import numpy as np
import pytest
import torch
from tests.models_support import random_ids
from tests.routing_support import model_of

from anira.config import UserError
from anira.inference.calibration import calibrate, consistency_losses, hoeffding_bentkus, learn_then_test

THRESHOLDS = [round(0.1 * i, 1) for i in range(1, 11)]
TOLERANCE, LEVEL, ROWS, SIMULATIONS = 0.1, 0.1, 300, 500


def risk(threshold: float) -> float:
    """Return the planted expected loss: that of 0.6 is just not tolerable, that of 0.7 is well below."""
    return {0.6: 0.1001, 0.7: 0.05}.get(threshold, 0.02 if threshold > 0.7 else 0.3)


def chosen(generator: np.random.Generator, losses_at) -> list[float | None]:
    draws = (np.stack([losses_at(risk(t), generator) for t in THRESHOLDS]) for _ in range(SIMULATIONS))
    return [learn_then_test(THRESHOLDS, losses, TOLERANCE, LEVEL) for losses in draws]


def coins(mean: float, generator: np.random.Generator) -> np.ndarray:
    return (generator.random(ROWS) < mean).astype(float)


def shares(mean: float, generator: np.random.Generator) -> np.ndarray:
    return generator.beta(2 * mean, 2 * (1 - mean), ROWS)


@pytest.mark.parametrize("losses_at", [coins, shares])
def test_the_promise_is_kept_and_not_by_giving_up(losses_at) -> None:
    found = chosen(np.random.default_rng(0), losses_at)
    broken = sum(threshold is not None and risk(threshold) > TOLERANCE for threshold in found) / SIMULATIONS
    assert broken <= LEVEL + 3 * math.sqrt(LEVEL * (1 - LEVEL) / SIMULATIONS)
    assert sum(threshold is not None and threshold <= 0.7 for threshold in found) / SIMULATIONS > 0.7


def test_p_values_are_valid_and_not_empty() -> None:
    """Where the loss is exactly what is tolerated, p <= u happens at most a share u of the time, and not never."""
    draws = np.random.default_rng(1).random((4000, ROWS)) < TOLERANCE
    p = np.array([hoeffding_bentkus(row.mean(), ROWS, TOLERANCE) for row in draws])
    for u in (0.01, 0.05, 0.1, 0.3):
        assert (p <= u).mean() <= u + 3 * math.sqrt(u * (1 - u) / len(p))
    assert (p <= 0.1).mean() > 0.01


def test_p_values_by_hand() -> None:
    """Without any loss Hoeffding's bound is (1 - tolerance)^n, which is less than e times the same."""
    assert hoeffding_bentkus(0.0, 20, 0.1) == pytest.approx(0.9**20)
    below = sum(math.comb(50, k) * 0.3**k * 0.7 ** (50 - k) for k in range(11))
    kl = 0.2 * math.log(0.2 / 0.3) + 0.8 * math.log(0.8 / 0.7)
    assert hoeffding_bentkus(0.2, 50, 0.3) == pytest.approx(min(math.e * below, math.exp(-50 * kl)))
    assert hoeffding_bentkus(0.3, 50, 0.3) == 1
    values = [hoeffding_bentkus(mean, 50, 0.3) for mean in np.linspace(0, 0.3, 16)]
    assert values == sorted(values)


def test_testing_stops_at_the_first_failure() -> None:
    good, bad = np.zeros(200), np.ones(200)
    assert learn_then_test([0.2, 0.9, 0.5], np.stack([good, good, bad]), 0.1, 0.05) == 0.9
    assert learn_then_test([0.9, 0.5], np.stack([bad, good]), 0.1, 0.05) is None


@pytest.mark.parametrize("policy", ["confidence", "calm"])
def test_a_model_is_held_against_its_full_depth(policy: str) -> None:
    model, ids = model_of(policy), random_ids(40, 9)
    mask = (torch.arange(9) < torch.tensor([[9], [7]]).repeat(20, 1)).long()
    labels = ids.masked_fill(mask == 0, -100)
    labels[:, :4] = -100
    losses = consistency_losses(model, ids, labels, thresholds=[0.0, 0.4, 1.0], attention_mask=mask)
    assert (losses[2] == 0).all()
    early, full = (model(ids, mask, exit_depth=depth).logits.argmax(-1) for depth in (1, 5))
    for row in range(40):
        at = [t - 1 for t in range(9) if labels[row, t] != -100]
        assert losses[0][row] == pytest.approx(sum(bool(early[row, t] != full[row, t]) for t in at) / len(at))
    assert losses[0].mean() > losses[1].mean() > 0
    found = calibrate(model, ids, labels, thresholds=[0.0, 0.4, 1.0], tolerance=0.2, attention_mask=mask)
    assert found == learn_then_test([0.0, 0.4, 1.0], losses, 0.2, 0.05)
    assert found in (0.4, 1.0)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(UserError, match="between 0 and 1"):
        learn_then_test([0.5], np.array([[2.0]]), 0.1, 0.05)
    with pytest.raises(UserError, match="tolerance"):
        learn_then_test([0.5], np.zeros((1, 3)), 0.0, 0.05)
    with pytest.raises(UserError, match="1 thresholds times at least one row"):
        learn_then_test([0.5], np.zeros((2, 3)), 0.1, 0.05)
    ids = random_ids(1, 4)
    with pytest.raises(UserError, match="must have an answer"):
        consistency_losses(model_of("confidence"), ids, torch.full_like(ids, -100), thresholds=[0.5])
