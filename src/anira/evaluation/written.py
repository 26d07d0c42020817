"""Rows with the answers that a model writes itself, greedily, in place of the true ones."""

import numpy as np
import torch

from anira.config import UserError
from anira.evaluation.port import DepthModel
from anira.evaluation.predict import Array, Prediction, Settings
from anira.tasks import Rows, Task


def generate_rows(model: DepthModel, task: Task, rows: Rows, settings: Settings) -> tuple[Rows, Prediction]:
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
        written = _greedy(model, ids[group, :start], longest, settings)
        for i, answer in zip(group, written, strict=True):
            own[i, start : start + counts[i]] = answer[: counts[i]]
    read = np.where(rows.labels == rows.input_ids, own, rows.input_ids)  # what is no token of the row is not read
    answered = Rows(read, own, rows.lengths, rows.knob)
    return answered, model.read(answered, settings)


def check_one_answer(task: Task, rows: Rows) -> None:
    """Refuse rows with several answers: the model would have to be asked in between."""
    if not all(rows.has_one_answer(i) for i in range(len(rows))):
        raise UserError(f"--generate needs one answer a row: task {task.name!r} has several here")


def _greedy(model: DepthModel, prompt: Array, count: int, settings: Settings) -> Array:
    """Decode `count` tokens for prompts of one length, with the cache."""
    session = model.start(settings)
    token, mask = torch.from_numpy(prompt), torch.ones(prompt.shape, dtype=torch.long)
    written = []
    for _ in range(count):
        token = session.feed(token, mask).logits.argmax(-1, keepdim=True)
        written.append(token)
        mask = torch.nn.functional.pad(mask, (0, 1), value=1)
    return torch.cat(written, dim=1).cpu().numpy()
