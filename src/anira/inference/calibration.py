"""Learn-then-Test: a threshold that keeps a promise (Angelopoulos et al. 2021; CALM, section 4).

The promise: with probability at least 1 - level over the rows of the calibration, the expected loss of the chosen
threshold is at most `tolerance`. Thresholds are tested from the deepest, which loses least, downwards, each at the full
level, and testing stops at the first that fails (fixed sequence testing). Nothing is assumed about losses but that
they lie between 0 and 1 and that rows are drawn independently.
"""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from scipy.special import bdtr
from torch import Tensor

from anira.config import UserError
from anira.models import AniraForCausalLM
from anira.models.wrapped import policy_in_use


def hoeffding_bentkus(mean_loss: float, rows: int, tolerance: float) -> float:
    """Return a p-value for "the expected loss exceeds `tolerance`", given the mean of so many losses in [0, 1].

    The smaller of two valid p-values of this form is one again (Bates et al. 2021, "Distribution-free, risk-controlling
    prediction sets").

    >>> hoeffding_bentkus(0.3, 100, 0.2)
    1.0
    """
    if mean_loss >= tolerance:
        return 1.0
    hoeffding = math.exp(-rows * _divergence(mean_loss, tolerance))
    # What a sum of losses is off by rounding must not count as one more.
    bentkus = math.e * float(bdtr(math.ceil(rows * mean_loss - 1e-9), rows, tolerance))
    return min(hoeffding, bentkus, 1.0)


def learn_then_test(
    thresholds: Sequence[float],
    losses: Float[NDArray[np.floating], "thresholds rows"],
    tolerance: float,
    level: float,
    deeper: Literal["high", "low"] = "high",
) -> float | None:
    """Return the shallowest threshold that keeps the promise, None if not even the deepest does.

    `losses[i]` are those of `thresholds[i]` on the rows, the same rows for all. `deeper` says which thresholds let
    tokens run longer (`ThresholdRange.deeper`).

    >>> learn_then_test([0.5, 0.9], np.array([[0.5] * 100, [0.0] * 100]), tolerance=0.1, level=0.05)
    0.9
    """
    _check(thresholds, losses, tolerance, level)
    kept = None
    for i in sorted(range(len(thresholds)), key=lambda i: thresholds[i], reverse=deeper == "high"):
        if hoeffding_bentkus(float(losses[i].mean()), losses.shape[1], tolerance) > level:
            break
        kept = thresholds[i]
    return kept


@torch.no_grad()
def consistency_losses(
    model: AniraForCausalLM,
    input_ids: Int[Tensor, "batch time"],
    labels: Int[Tensor, "batch time"],
    attention_mask: Int[Tensor, "batch time"] | Bool[Tensor, "batch time"] | None = None,
    *,
    thresholds: Sequence[float],
    select: str | None = None,
) -> Float[NDArray[np.floating], "thresholds batch"]:
    """Return for every threshold which share of each row's answer the model predicts unlike itself at full depth.

    Rows are read as they are (teacher forcing): position t predicts the answer token at t + 1.
    """
    answers = torch.nn.functional.pad(labels[:, 1:] != -100, (0, 1))
    if not bool(answers.any(1).all()):
        raise UserError("every row must have an answer: a row without one has no loss")
    full = model(input_ids, attention_mask, exit_depth=model.config.max_depth, active=True).logits.argmax(-1)
    found = []
    for threshold in thresholds:
        out = model(input_ids, attention_mask, select=select, threshold=threshold, active=True)
        differs = (out.logits.argmax(-1) != full) & answers
        found.append((differs.sum(1) / answers.sum(1)).double().cpu().numpy())
    return np.stack(found)


def calibrate(
    model: AniraForCausalLM,
    input_ids: Int[Tensor, "batch time"],
    labels: Int[Tensor, "batch time"],
    *,
    thresholds: Sequence[float],
    tolerance: float,
    level: float = 0.05,
    select: str | None = None,
    attention_mask: Int[Tensor, "batch time"] | Bool[Tensor, "batch time"] | None = None,
) -> float | None:
    """Return the shallowest threshold under which the model stays as consistent with its full depth as promised.

    Rows must be new ones, which neither training nor the choice of `thresholds` has looked at. None: use full depth.
    """
    bounds = policy_in_use(model.policy).rules[policy_in_use(model.policy).rule(select, thresholds[0]).select]
    assert bounds is not None  # a rule that takes no threshold is refused by `rule`
    losses = consistency_losses(model, input_ids, labels, attention_mask, thresholds=thresholds, select=select)
    return learn_then_test(thresholds, losses, tolerance, level, bounds.deeper)


def _divergence(p: float, q: float) -> float:
    """Return KL of two coins, p < q."""
    rest = (1 - p) * math.log((1 - p) / (1 - q)) if q < 1 else math.inf
    return rest + (p * math.log(p / q) if p else 0.0)


def _check(thresholds: Sequence[float], losses: NDArray[np.floating], tolerance: float, level: float) -> None:
    if losses.ndim != 2 or len(losses) != len(thresholds) or losses.shape[1] == 0:
        raise UserError(f"losses must be {len(thresholds)} thresholds times at least one row, not {losses.shape}")
    if not ((losses >= 0) & (losses <= 1)).all():
        raise UserError("losses must lie between 0 and 1")
    for name, value in (("tolerance", tolerance), ("level", level)):
        if not 0 < value < 1:
            raise UserError(f"{name} must lie between 0 and 1, not {value}")
