"""What a model says about rows: one parallel forward pass, or free decoding."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from anira.config import UserError
from anira.models import AniraForCausalLM, AniraOutput
from anira.models.exits import at_least_float32
from anira.records.overrides import forced_depth
from anira.tasks import IGNORE, Rows, Task

Array = NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How depth is chosen."""

    select: str | None = None
    threshold: float | None = None
    override: str = ""
    """What takes the place of the policy's choice: nothing, `permuted`, or `depth-3` for all tokens at depth 3."""

    @property
    def depth(self) -> int | None:
        """The depth that all tokens are forced to, if they are."""
        return forced_depth(self.override)


@dataclass(frozen=True)
class Prediction:
    """What the model said at each position of each row."""

    predicted: Array
    """The most likely next token."""
    exit_depth: Array
    executed: Array
    expected_depth: Array | None
    exit_probs: Array | None
    ce: Array | None = None
    """Minus the log probability, in nats, of what should be predicted: the label, or else the next token of the row."""

    @staticmethod
    def concat(parts: Sequence["Prediction"]) -> "Prediction":
        """Join predictions of different widths, padding to the widest."""
        width = max(part.predicted.shape[1] for part in parts)

        def join(name: str) -> Array | None:
            values = [getattr(part, name) for part in parts]
            if values[0] is None:
                return None
            pads = [[(0, 0), (0, width - value.shape[1]), (0, 0)][: value.ndim] for value in values]
            return np.concatenate([np.pad(value, pad) for value, pad in zip(values, pads, strict=True)])

        return Prediction(*(join(name) for name in Prediction.__dataclass_fields__))  # type: ignore[arg-type]


def predict(model: AniraForCausalLM, rows: Rows, settings: Settings) -> Prediction:
    """Run the parallel graph over rows that are padded on the right."""
    ids = torch.from_numpy(rows.input_ids.astype(np.int64)).to(model.device)
    if settings.depth is not None:
        chosen: dict[str, Any] = {"exit_depth": torch.full_like(ids, settings.depth)}
    else:
        chosen = {"select": settings.select, "threshold": settings.threshold}
    output: AniraOutput = model(ids, **chosen)
    if settings.override == "permuted":
        output = model(ids, exit_depth=_permuted(output, rows))
    return _prediction(output, torch.from_numpy(rows.targets.astype(np.int64)).to(model.device))


def _permuted(output: AniraOutput, rows: Rows) -> Tensor:
    """Shuffle the depths of all tokens of the batch that are not padding."""
    assert output.exit_depth is not None
    depth = output.exit_depth.cpu().numpy().copy()
    valid = np.arange(depth.shape[1]) < rows.lengths[:, None]
    depth[valid] = np.random.default_rng(0).permutation(depth[valid])
    return torch.from_numpy(depth).to(output.exit_depth.device)


def _prediction(output: AniraOutput, targets: Tensor) -> Prediction:
    def array(values: Tensor | None) -> Array | None:
        return None if values is None else values.float().cpu().numpy()

    assert output.logits is not None and output.exit_depth is not None and output.executed is not None
    log_probs = output.exit_log_probs
    return Prediction(
        output.logits.argmax(-1).cpu().numpy(),
        output.exit_depth.cpu().numpy(),
        output.executed.cpu().numpy(),
        array(output.expected_depth),
        None if log_probs is None else array(log_probs.exp()),
        array(_cross_entropy(output.logits, targets)),
    )


def _cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the cross-entropy of every target, at the position before it; 0 at the last, which predicts nothing."""
    following = torch.cat([targets[:, 1:], torch.full_like(targets[:, :1], IGNORE)], dim=1)
    return cross_entropy(at_least_float32(logits).transpose(1, 2), following, ignore_index=IGNORE, reduction="none")


def generate_rows(model: AniraForCausalLM, task: Task, rows: Rows, settings: Settings) -> tuple[Rows, Prediction]:
    """Let the model write its own answers, greedily; return rows with those answers in place of the true ones.

    As many tokens are written as the true answer has: more cannot make it right. What was computed on the way, depths
    included, is what the parallel graph computes on the rows that result (tests hold the two equal), so it is read
    off from there.
    """
    check_one_answer(task, rows)
    ids, own = rows.input_ids.astype(np.int64), rows.labels.copy()
    positions = [rows.answer_positions(i) for i in range(len(rows))]
    starts = np.array([where[0] for where in positions])
    counts = np.array([len(where) for where in positions])
    for start in np.unique(starts):
        group = np.flatnonzero(starts == start)
        longest = int(counts[group].max())
        prompt = torch.from_numpy(ids[group, :start]).to(model.device)
        written = _greedy(model, prompt, longest, settings)
        for i, answer in zip(group, written, strict=True):
            own[i, start : start + counts[i]] = answer[: counts[i]]
    read = np.where(rows.labels == rows.input_ids, own, rows.input_ids)  # what is no token of the row is not read
    answered = Rows(read, own, rows.lengths, rows.knob)
    return answered, predict(model, answered, settings)


def check_one_answer(task: Task, rows: Rows) -> None:
    """Refuse rows with several answers: the model would have to be asked in between."""
    if not all(rows.has_one_answer(i) for i in range(len(rows))):
        raise UserError(f"--generate needs one answer a row: task {task.name!r} has several here")


def _greedy(model: AniraForCausalLM, prompt: Tensor, count: int, settings: Settings) -> Array:
    """Decode `count` tokens for prompts of one length, with the cache."""
    from anira.inference import Stepwise

    session = Stepwise(model, select=settings.select, threshold=settings.threshold)
    token = prompt
    written = []
    for _ in range(count):
        token = session.feed(token).logits.argmax(-1, keepdim=True)
        written.append(token)
    return torch.cat(written, dim=1).cpu().numpy()
