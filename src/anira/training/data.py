"""Batches: rows by address, laid end to end without padding, with the noise and the counts that belong to them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from anira.config import UserError
from anira.models import uniform_noise
from anira.tasks import IGNORE, Rows, Task
from anira.training.config import TrainConfig


@dataclass(frozen=True)
class Batch:
    """A part of a step's rows, as one packed row; the counts are those of the whole step."""

    input_ids: Int[Tensor, "1 tokens"]
    labels: Int[Tensor, "1 tokens"]
    lengths: Int[Tensor, " instances"]
    longest: int
    answers: Int[Tensor, " answers"]
    """The positions that predict an answer token."""
    noise: Float[Tensor, "1 tokens channels"] | None
    num_answer_tokens: Tensor
    num_valid_tokens: Tensor

    def arguments(self, device: torch.device) -> dict[str, Any]:
        """Return what the model is called with."""
        return {
            "input_ids": self.input_ids.to(device),
            "labels": self.labels.to(device),
            "lengths": self.lengths.to(device),
            "max_length": self.longest,
            "logits_to_keep": self.answers.to(device),
            "noise": None if self.noise is None else self.noise.to(device),
            "num_answer_tokens": self.num_answer_tokens.to(device),
            "num_valid_tokens": self.num_valid_tokens.to(device),
        }


class Batches:
    """The batches of a run: those of step s are rows s * batch_size onwards, whoever asks and whenever."""

    def __init__(self, task: Task, config: TrainConfig, noise_width: int, *, rank: int = 0, world: int = 1) -> None:
        self.task, self.config, self.noise_width = task, config, noise_width
        self.rank, self.world, self.parts = rank, world, config.accumulation
        check_shares(config, world)

    def step(self, step: int) -> Iterator[Batch]:
        """Yield this process's parts of the batch of a step (steps count from 1)."""
        size = self.config.batch_size
        start = (step - 1) * size
        rows = self.task.rows(seed=self.config.seed, stream="train", start=start, count=size)
        counts = torch.tensor(float((rows.labels != IGNORE).sum())), torch.tensor(float(rows.lengths.sum()))
        # A part has rows of like length, which attention lays out with little padding; processes take turns in it, so
        # that all have the same work.
        for part in np.split(np.argsort(rows.lengths, kind="stable"), self.parts):
            index = np.sort(part[self.rank :: self.world])
            yield self._batch(step, start + index, rows.take(index), counts)

    def _batch(self, step: int, index: NDArray[Any], rows: Rows, counts: tuple[Tensor, Tensor]) -> Batch:
        longest = check_lengths(rows, self.config.max_length)
        columns = np.arange(rows.input_ids.shape[1])
        valid = columns < rows.lengths[:, None]
        supervised = ((rows.labels != IGNORE) & (columns > 0))[valid]
        noise = None
        if self.noise_width:
            noise = uniform_noise(
                seed=self.config.seed,
                step=step,
                rows=torch.from_numpy(index),
                positions=torch.arange(len(columns)),
                width=self.noise_width,
            )[torch.from_numpy(valid)][None]
        return Batch(
            input_ids=torch.from_numpy(rows.input_ids[valid].astype(np.int64))[None],
            labels=torch.from_numpy(rows.labels[valid].astype(np.int64))[None],
            lengths=torch.from_numpy(rows.lengths.astype(np.int64)),
            longest=longest,
            answers=torch.from_numpy(supervised.nonzero()[0] - 1),
            noise=noise,
            num_answer_tokens=counts[0],
            num_valid_tokens=counts[1],
        )


def check_shares(config: TrainConfig, world: int) -> None:
    """Raise a UserError if a batch cannot be shared out evenly to processes and accumulated parts."""
    if config.batch_size % (world * config.accumulation):
        raise UserError(
            f"batch_size {config.batch_size} must be a multiple of processes x accumulation, "
            f"{world} x {config.accumulation}"
        )


def check_lengths(rows: Rows, max_length: int) -> int:
    """Return the length of the longest row, or raise a UserError if it is more than a model may read."""
    longest = int(rows.lengths.max())
    if longest > max_length:
        raise UserError(f"a row of {longest} tokens does not fit max_length {max_length}: give --max-length {longest}")
    return longest
