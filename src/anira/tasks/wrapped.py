"""A task around another one: other rows of the same instances, or some of its instances only."""

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from anira.tasks.base import BlockTask, Floats, Grade, Instance, Ints, Rows


class WrappedTask(BlockTask):
    """Answers as the task inside does; a subclass changes its blocks of rows, and says how to read them (`plain`)."""

    def __init__(self, inner: BlockTask) -> None:
        super().__init__(inner.config)
        self.inner = inner
        self.vocab, self.knob, self.probe_specs = inner.vocab, inner.knob, inner.probe_specs
        self.subtask, self.left_out, self.block = inner.subtask, inner.left_out, inner.block  # type: ignore[misc]

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the task itself."""
        return self.inner.name

    @property
    def summary(self) -> str:  # type: ignore[override]
        """What the task itself is."""
        return self.inner.summary

    @abstractmethod
    def wrap(self, part: BlockTask) -> "WrappedTask":
        """Return another task, wrapped alike."""

    def plain(self, rows: Rows) -> Rows:
        """Return rows as the task inside has them."""
        return rows

    def parts(self) -> Sequence[BlockTask]:
        """Return the parts of the task itself, wrapped alike."""
        inner = self.inner.parts()
        return [self] if list(inner) == [self.inner] else [self.wrap(part) for part in inner]

    def held_out(self, rows: Rows) -> NDArray[np.bool_] | None:
        """Say which rows training never reads, if some of the task's instances are kept from it."""
        return self.inner.held_out(self.plain(rows)) if isinstance(self.inner, WrappedTask) else None

    def generate(self, rng: np.random.Generator, index: Ints, knob: int | None) -> Rows:
        """Make the rows of the task itself."""
        return self.inner.generate(rng, index, knob)

    def read(self, question: str) -> Rows:
        """Return the one row of a question written by hand, as the task itself has it."""
        return self.inner.read(question)

    def instance(self, rows: Rows, i: int) -> Instance:
        """Return row i as a person reads it."""
        return self.inner.instance(self._alone(rows, i), 0)

    def probes(self, rows: Rows, i: int) -> dict[str, Floats]:
        """Return the probes of the task itself."""
        return self.inner.probes(self._alone(rows, i), 0)

    def grade(self, rows: Rows, i: int, answer_ids: Sequence[int]) -> Grade:
        """Grade as the task itself does."""
        return self.inner.grade(self._alone(rows, i), 0, answer_ids)

    def _alone(self, rows: Rows, i: int) -> Rows:
        """Return row i as the task itself has it."""
        return self.plain(rows.take(slice(i, i + 1)))
