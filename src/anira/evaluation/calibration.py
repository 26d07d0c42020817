"""The threshold of a rule that saves most and keeps a promise, on rows that neither training nor evaluation reads."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from torch import Tensor

from anira.config import UserError, nearest
from anira.evaluation.predict import Settings, predict
from anira.inference.calibration import consistency_losses, learn_then_test
from anira.models import AniraForCausalLM
from anira.models.policies import ThresholdRange
from anira.models.policies.rules import threshold_rule
from anira.tasks import BlockTask, Rows

_BATCH: Final = 256


@dataclass(frozen=True, kw_only=True)
class Promise:
    """What is promised, and how it is tested."""

    tolerance: float
    level: float
    thresholds: int
    """How many are tested, from the deepest on."""
    count: int
    """Rows."""


def rule_to_calibrate(model: AniraForCausalLM, select: str | None) -> tuple[str, ThresholdRange]:
    """Return the rule whose threshold is chosen, by default the policy's own, and the thresholds that it takes."""
    policy = model.policy
    own = threshold_rule(policy.rules, policy.rule().select)
    if not own:
        raise UserError(f"no rule of policy {policy.name!r} takes a threshold: there is nothing to choose")
    name = select or own
    bounds = policy.rules.get(name)
    if bounds is None:
        raise UserError(f"policy {policy.name!r} has no rule {name!r} with a threshold: {nearest(name, policy.rules)}")
    return name, bounds


def calibrated(
    model: AniraForCausalLM, task: BlockTask, rule: tuple[str, ThresholdRange], promise: Promise
) -> tuple[float | None, float]:
    """Return the chosen threshold, None where full depth alone keeps the promise, and the iterations per token."""
    select, bounds = rule
    thresholds = _grid(bounds, promise.thresholds)
    parts = [
        task.rows(seed=0, stream="valid", start=start, count=min(_BATCH, promise.count - start))
        for start in range(0, promise.count, _BATCH)
    ]
    losses = [consistency_losses(model, *_tensors(part), thresholds=thresholds, select=select) for part in parts]
    together = np.concatenate(losses, axis=1)
    threshold = learn_then_test(thresholds, together, promise.tolerance, promise.level, bounds.deeper)
    if threshold is None:
        return None, float(model.config.max_depth)
    executed = [predict(model, part, Settings(select=select, threshold=threshold)).executed.sum() for part in parts]
    tokens = sum(int(part.lengths.sum()) for part in parts)
    return round(threshold, 12), float(sum(executed) / tokens)


def _grid(bounds: ThresholdRange, number: int) -> list[float]:
    """Return thresholds evenly over a range, or over the four decades around the default where that is small in it."""
    default, width = bounds.default, bounds.high - bounds.low
    if default is not None and 0 < default - bounds.low < width / 20:
        return [default * 10 ** (4 * (i + 1) / number - 2) for i in range(number)]
    return [bounds.low + width * (i + 1) / number for i in range(number)]


def _tensors(rows: Rows) -> tuple[Tensor, Tensor, Tensor]:
    """Return tokens, labels and which tokens are no padding."""
    ids, labels, lengths = (torch.from_numpy(v.astype("int64")) for v in (rows.input_ids, rows.labels, rows.lengths))
    return ids, labels, (torch.arange(ids.shape[1]) < lengths[:, None]).long()
