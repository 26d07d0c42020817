"""Batches: rows by address, padded to a fixed list of lengths, with the noise and the counts that belong to them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from anira.config import UserError
from anira.models import uniform_noise
from anira.tasks import IGNORE, Rows, Task
from anira.training.config import TrainConfig


@dataclass(frozen=True)
class Batch:
    """A part of a step's rows; the counts are those of the whole step."""

    input_ids: Tensor
    labels: Tensor
    valid: Tensor
    noise: Tensor | None
    num_answer_tokens: Tensor
    num_valid_tokens: Tensor


class Batches:
    """The batches of a run: those of step s are rows s * batch_size onwards, whoever asks and whenever."""

    def __init__(self, task: Task, config: TrainConfig, noise_width: int, *, rank: int = 0, world: int = 1) -> None:
        self.task, self.config, self.noise_width = task, config, noise_width
        self.rank, self.world, self.parts = rank, world, config.accumulation
        if config.batch_size % (world * config.accumulation):
            raise UserError(
                f"batch_size {config.batch_size} must be a multiple of processes x accumulation, "
                f"{world} x {config.accumulation}"
            )
        self.share = config.batch_size // world // config.accumulation

    def step(self, step: int) -> Iterator[Batch]:
        """Yield this process's parts of the batch of a step (steps count from 1)."""
        size = self.config.batch_size
        start = (step - 1) * size
        rows = self.task.rows(seed=self.config.seed, stream="train", start=start, count=size)
        counts = torch.tensor(float((rows.labels != IGNORE).sum())), torch.tensor(float(rows.lengths.sum()))
        # Parts of rows of like length pad less; processes take turns, so that each part is the same work for all.
        order = np.argsort(rows.lengths, kind="stable")
        for part in range(self.parts):
            first = (part * self.world + self.rank) * self.share
            index = np.sort(order[first : first + self.share])
            own = rows.take(index)
            yield self._batch(step, start + index, own, self._width(own), counts)

    def _width(self, rows: Rows) -> int:
        """Return the length to pad to: the longest row, or with a compiled graph the next one of a fixed list.

        A compiled graph is made anew for every length it meets; a few lengths are met soon and then never again.
        """
        longest = check_lengths(rows, self.config.max_length)
        if not self.config.compile:
            return longest
        lengths = [length for length in padded_lengths(self.config.max_length) if length >= longest]
        return lengths[0]

    def _batch(
        self,
        step: int,
        index: NDArray[Any],
        rows: Rows,
        width: int,
        counts: tuple[Tensor, Tensor],
    ) -> Batch:
        def padded(values: NDArray[Any], fill: int) -> Tensor:
            pad = ((0, 0), (0, width - values.shape[1]))
            return torch.from_numpy(np.pad(values.astype(np.int64), pad, constant_values=fill))

        noise = None
        if self.noise_width:
            noise = uniform_noise(
                seed=self.config.seed,
                step=step,
                rows=torch.from_numpy(index),
                positions=torch.arange(width),
                width=self.noise_width,
            )
        valid = torch.arange(width) < torch.from_numpy(rows.lengths.astype(np.int64))[:, None]
        return Batch(padded(rows.input_ids, 0), padded(rows.labels, IGNORE), valid, noise, *counts)


def check_lengths(rows: Rows, max_length: int) -> int:
    """Return the length of the longest row, or raise a UserError if it is more than a model may read."""
    longest = int(rows.lengths.max())
    if longest > max_length:
        raise UserError(f"a row of {longest} tokens does not fit max_length {max_length}: give --max-length {longest}")
    return longest


def padded_lengths(max_length: int) -> list[int]:
    """Return the lengths that compiled runs pad to: few, because each costs a compilation.

    >>> padded_lengths(64)
    [20, 29, 43, 64]
    """
    lengths = [max_length]
    while lengths[0] > 24:
        lengths.insert(0, math.ceil(lengths[0] / 1.5))
    return lengths
