"""What a task is: rows of token ids addressed by index, and the reference solver's view of each row.

Row i of (task config, seed, stream, knob) is always the same, however it is reached: rows are generated in fixed blocks
(4096 rows, fewer where rows are long) with one random stream per block; a batch is a slice. So any batch size, worker
or process sees the same data.
"""

import hashlib
import operator
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from anira.config import UserError, nearest
from anira.tasks.vocab import BOS, Vocab

BLOCK = 4096
STREAMS = ("train", "valid", "eval")
IGNORE = -100  # the label of a token that is not supervised (Hugging Face's convention)
_CACHED_BLOCKS = 4

Ints = NDArray[np.integer[Any]]
Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, kw_only=True)
class Knob:
    """The complexity parameter of a task: which values are trained, and which can be asked for at all."""

    name: str
    meaning: str
    cost: str
    """How the reference solver's work grows with the knob, as a formula in the knob's name."""
    seen: tuple[int, ...]
    """The values that training rows have, ascending."""
    minimum: int
    maximum: int
    """The values that `rows(knob=...)` accepts; beyond `seen` they are for extrapolation."""

    def check(self, value: int) -> None:
        """Raise a UserError if no row can have this value."""
        if not self.minimum <= value <= self.maximum:
            raise UserError(
                f"knob {self.name} = {value} is out of range: it goes from {self.minimum} to {self.maximum}"
            )

    def split(self, value: int) -> Literal["seen", "interpolation", "extrapolation"]:
        """Say how a value stands to the trained ones.

        >>> Knob(name="n", meaning="", cost="n", seen=(4, 8), minimum=1, maximum=99).split(6)
        'interpolation'
        """
        if value in self.seen:
            return "seen"
        return "interpolation" if self.seen[0] < value < self.seen[-1] else "extrapolation"


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A feature of the reference solver's state at a token.

    The anchor says which position's depth it is compared with: `input` is the token's own position, `target` the
    position that predicts the token (one earlier), where the work for it is done.
    """

    name: str
    anchor: Literal["input", "target"]
    meaning: str


@dataclass(frozen=True)
class Rows:
    """Right-padded rows of a task.

    For MANO with 3 operators, `<bos> + + 5 3 - 12 17 <ans> 3 <eos>` is one row of length 11 whose labels are -100
    everywhere except at the answer (position 9), where the label is the id of `3`. Labels are not shifted: the label
    at a position is what the position before it should predict. It is the token of the row itself, unless the task asks
    for something that no later position may read (WORDS in its dense form).
    """

    input_ids: Ints
    labels: Ints
    lengths: Ints
    knob: Ints

    def __len__(self) -> int:
        return len(self.lengths)

    def take(self, index: Any) -> "Rows":
        """Return the chosen rows (a slice or an index array), cut to the longest of them."""
        lengths = self.lengths[index]
        width = int(lengths.max(initial=0))
        return Rows(self.input_ids[index, :width], self.labels[index, :width], lengths, self.knob[index])

    @staticmethod
    def concat(parts: Sequence["Rows"]) -> "Rows":
        """Join rows of different widths, padding to the widest."""
        width = max(part.input_ids.shape[1] for part in parts)

        def pad(ids: Ints, value: int) -> Ints:
            missing = width - ids.shape[1]
            return np.pad(ids, ((0, 0), (0, missing)), constant_values=value) if missing else ids

        return Rows(
            np.concatenate([pad(part.input_ids, 0) for part in parts]),
            np.concatenate([pad(part.labels, IGNORE) for part in parts]),
            np.concatenate([part.lengths for part in parts]),
            np.concatenate([part.knob for part in parts]),
        )

    def ids(self, i: int) -> list[int]:
        """Return the tokens of row i without padding."""
        ids: list[int] = self.input_ids[i, : self.lengths[i]].tolist()
        return ids

    def answer_positions(self, i: int) -> list[int]:
        """Return the positions of the supervised tokens of row i."""
        positions: list[int] = (self.labels[i] != IGNORE).nonzero()[0].tolist()
        return positions

    def answer(self, i: int) -> list[int]:
        """Return the supervised tokens of row i in order."""
        answer: list[int] = self.labels[i][self.labels[i] != IGNORE].tolist()
        return answer

    @property
    def targets(self) -> Ints:
        """What the position before each token should predict: its label where it has one, or else the token."""
        return np.where(self.labels == IGNORE, self.input_ids, self.labels)

    def is_dense(self, i: int) -> bool:
        """Say whether answers of row i are not tokens of the row: no later position reads them."""
        labels = self.labels[i]
        return bool(((labels != IGNORE) & (labels != self.input_ids[i])).any())

    def has_one_answer(self, i: int) -> bool:
        """Say whether a model can write all supervised tokens of row i one after the other."""
        where = self.answer_positions(i)
        return where[-1] - where[0] < len(where) and (len(where) == 1 or not self.is_dense(i))


@dataclass(frozen=True, kw_only=True)
class Instance:
    """One row as a person reads it."""

    question: str
    """The prompt's tokens without `<bos>`: what `anira generate` takes."""
    answer: str
    picture: str
    """The same problem drawn in a few lines of text: an infix expression, a graph."""
    meta: dict[str, int] = field(default_factory=dict)
    """Instance-level probes by name: sizes that the reference solver meets."""


@dataclass(frozen=True)
class Grade:
    """Whether an answer is right: letter by letter, and under the task's lenient rule."""

    exact: bool
    lenient: bool


class Task(Protocol):
    """The interface that evaluation and training see; `BlockTask` is the easy way to implement it."""

    @property
    def name(self) -> str:
        """What the task is called on the command line and in records."""

    config: Any
    vocab: Vocab
    knob: Knob
    probe_specs: tuple[Probe, ...]

    @property
    def subtask(self) -> str:
        """Which of several tasks in one this is; empty for a task that is only one, or all of them."""

    def parts(self) -> "Sequence[Task]":
        """Return the tasks that this one mixes, each with its own knob; a task that is only one is its own part."""

    def rows(self, *, seed: int, stream: str, start: int, count: int, knob: int | None = None) -> Rows:
        """Return rows start .. start + count of a stream, all with the given knob or with the training mixture."""

    def read(self, question: str) -> Rows:
        """Return the one row of a question written by hand, with the reference solver's answer."""

    def instance(self, rows: Rows, i: int) -> Instance:
        """Return row i as a person reads it."""

    def probes(self, rows: Rows, i: int) -> dict[str, Floats]:
        """Return one value (or one short vector) per token and probe, NaN where the probe is undefined."""

    def grade(self, rows: Rows, i: int, answer_ids: Sequence[int]) -> Grade:
        """Grade what a model answered to row i; tokens after the supervised ones are not read."""


class BlockTask(ABC):
    """A task whose author writes one vectorised `generate`; everything about addressing rows is done here.

    A subclass sets the class attributes, builds `vocab` and `knob` from its config in the constructor, and defines
    `generate`, `read`, `instance` and `probes`. See `docs/add-a-task.md` for a whole one in 60 lines.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    Config: ClassVar[type]
    block: ClassVar[int] = BLOCK
    """Rows that are made at once; a task with long rows takes fewer."""
    probe_specs: tuple[Probe, ...]
    vocab: Vocab
    knob: Knob
    subtask: str = ""
    left_out: Sequence[tuple[str, int]] = ()
    """Subtasks and knobs that the config asks for and training rows do not have, because they are too long."""

    def __init__(self, config: Any = None) -> None:
        self.config = self.Config() if config is None else config
        self._blocks: OrderedDict[tuple[int, str, int | None, int], Rows] = OrderedDict()

    @abstractmethod
    def generate(self, rng: np.random.Generator, index: Ints, knob: int | None) -> Rows:
        """Make the rows with these global indices; all randomness comes from `rng`, all rows have `knob` if given."""

    @abstractmethod
    def read(self, question: str) -> Rows:
        """Return the one row of a question written by hand, with the reference solver's answer."""

    @abstractmethod
    def instance(self, rows: Rows, i: int) -> Instance:
        """Return row i as a person reads it."""

    @abstractmethod
    def probes(self, rows: Rows, i: int) -> dict[str, Floats]:
        """Return one value (or one short vector) per token and probe, NaN where the probe is undefined."""

    def parts(self) -> "Sequence[BlockTask]":
        """Return the tasks that this one mixes; a task that is only one is its own part."""
        return (self,)

    def rows(self, *, seed: int, stream: str, start: int, count: int, knob: int | None = None) -> Rows:
        """Return rows start .. start + count of a stream, all with the given knob or with the training mixture."""
        self._check_address(seed, stream, start, count, knob)
        # Plain integers from numpy's: random streams are addressed by the text of these numbers.
        seed, start, count = (operator.index(number) for number in (seed, start, count))
        knob = None if knob is None else operator.index(knob)
        parts = []
        while count > 0:
            block, offset = divmod(start, self.block)
            size = min(count, self.block - offset)
            parts.append(self._block(seed, stream, knob, block).take(slice(offset, offset + size)))
            start, count = start + size, count - size
        # A copy, so that nobody can write into the cached block.
        return Rows.concat(parts)

    def grade(self, rows: Rows, i: int, answer_ids: Sequence[int]) -> Grade:
        """Compare with the supervised tokens; a task with a lenient rule overrides `lenient`."""
        truth = rows.answer(i)
        given = [int(token) for token in answer_ids[: len(truth)]]
        exact = given == truth
        return Grade(exact, exact or self.lenient(rows, i, given))

    def lenient(self, rows: Rows, i: int, given: list[int]) -> bool:
        """Say whether an answer that is not exact counts under the task's lenient rule; by default it does not."""
        return False

    def _check_address(self, seed: int, stream: str, start: int, count: int, knob: int | None) -> None:
        if stream not in STREAMS:
            raise UserError(f"unknown stream {stream!r}: {nearest(stream, STREAMS)}")
        if seed < 0 or start < 0 or count < 1:
            raise UserError(f"seed and start must be at least 0 and count at least 1, not {seed}, {start}, {count}")
        if knob is not None:
            self.knob.check(knob)

    def _block(self, seed: int, stream: str, knob: int | None, block: int) -> Rows:
        key = (seed, stream, knob, block)
        if key not in self._blocks:
            index = np.arange(block * self.block, (block + 1) * self.block)
            self._blocks[key] = self.generate(addressed_generator(self.name, *key), index, knob)
            if len(self._blocks) > _CACHED_BLOCKS:
                self._blocks.popitem(last=False)
        self._blocks.move_to_end(key)
        return self._blocks[key]


def question_ids(vocab: Vocab, question: str, *, end: str) -> list[int]:
    """Return the ids of a question typed by hand: `<bos>` and the end marker may be left out, nothing else.

    >>> question_ids(Vocab(["<pad>", "<bos>", "<ans>", "1"]), "1 1", end="<ans>")
    [1, 3, 3, 2]
    """
    words = question.split()
    words = [BOS] * (words[:1] != [BOS]) + words + [end] * (words[-1:] != [end])
    return vocab.encode(" ".join(words))


def addressed_generator(*address: object) -> np.random.Generator:
    """Return the random stream of an address: the same for equal addresses, on any machine."""
    # The address does not hold the config: options that change only the serialisation keep the problems themselves,
    # so that two settings can be compared on the same instances.
    digest = hashlib.sha256(repr(address).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "little"))
