"""What a run is trained on. The loop asks it for a step's batches, for an evaluation, and for what a checkpoint keeps.

A task's rows are addressed by their number, so a checkpoint needs to keep nothing of them. Text is a stream, and the
checkpoint keeps the place in it.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from anira.evaluation import EvaluationConfig, evaluate
from anira.models import AniraForCausalLM
from anira.tasks import Vocab
from anira.text import TextTokenizer
from anira.training.config import TrainConfig
from anira.training.data import Batch, Batches
from anira.training.evaluating import subject_of


class Source(Protocol):
    """Where batches come from."""

    vocab: Vocab | TextTokenizer
    """What checkpoints store as their tokenizer."""

    def step(self, step: int) -> Iterator[Batch]:
        """Yield this process's parts of the batch of a step; steps come in order, and one may be asked for again."""

    def evaluate(self, model: AniraForCausalLM, step: int, count: int, records: Path) -> list[dict[str, Any]]:
        """Evaluate a model at a step on `count` instances, or rows; return the figures for metrics.jsonl."""

    def figures(self) -> dict[str, Any]:
        """Return what a line of training metrics says about the data."""

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint keeps, as plain values."""

    def load_state(self, loop: Mapping[str, Any]) -> None:
        """Go to where the run stood, by what its checkpoint has kept; `loop["step"]` was the last step."""


class TaskSource:
    """Rows of a task."""

    def __init__(self, config: TrainConfig, noise_width: int, *, rank: int = 0, world: int = 1) -> None:
        self.config, self.task = config, config.make_task()
        self.batches = Batches(self.task, config, noise_width, rank=rank, world=world)
        self.vocab: Vocab | TextTokenizer = self.task.vocab

    def step(self, step: int) -> Iterator[Batch]:
        """Yield the parts of a step's batch."""
        return self.batches.step(step)

    def evaluate(self, model: AniraForCausalLM, step: int, count: int, records: Path) -> list[dict[str, Any]]:
        """Write records of every knob."""
        return evaluate(model, self.task, EvaluationConfig(count=count), subject_of(self.config, step), records)

    def figures(self) -> dict[str, Any]:
        """Return nothing: a step's number says which rows it has."""
        return {}

    def state(self) -> dict[str, Any]:
        """Return nothing, for the same reason."""
        return {}

    def load_state(self, loop: Mapping[str, Any]) -> None:
        """Do nothing, for the same reason."""
