"""From text to tokens: a question of the run's task as `anira sample` prints it, or any text for a tokenizer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, final

from anira.config import UserError
from anira.tasks import BlockTask
from anira.tasks.vocab import BOS


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """Tokens for a model to read."""

    ids: tuple[int, ...]
    truth: Mapping[int, int] = field(default_factory=dict)
    """Position -> the token that it should predict, where the reference solver knows it."""


class Reader(Protocol):
    """Reads text for one model."""

    every: bool
    """Whether the model was trained to predict the next token everywhere, not at answers alone."""

    def read(self, text: str, *, answer: bool = False) -> Prompt:
        """Return the tokens of a text; with `answer`, those of the true answer too, as far as a model reads it."""

    def text(self, token: int) -> str:
        """Return the text of one token."""

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of several tokens."""


@final
class TaskReader:
    """Reads questions of a task.

    What is no question, as one with its answer behind it, is read as it stands if all of its tokens are known.
    """

    every = False

    def __init__(self, task: BlockTask) -> None:
        self.task = task

    def read(self, text: str, *, answer: bool = False) -> Prompt:
        """Return the tokens of a question; a model that reads the answer along reads all of it but its last token.

        A string that is all answer (LANO) is read in either case, and so is what stands between several answers.
        """
        try:
            rows = self.task.read(text)
        except UserError:
            return Prompt(ids=self._as_it_stands(text))
        answers = dict(zip(rows.answer_positions(0), rows.answer(0), strict=True))
        start, last = min(answers), max(answers)
        end = start if rows.has_one_answer(0) and start > 1 and not answer else last
        truth = {place - 1: token for place, token in answers.items() if place <= end}
        return Prompt(ids=tuple(rows.ids(0)[:end]), truth=truth)

    def _as_it_stands(self, text: str) -> tuple[int, ...]:
        vocab = self.task.vocab
        ids = vocab.encode(text)
        first = [vocab.id(BOS)] if BOS in vocab else []
        return tuple(ids if ids[:1] == first else [*first, *ids])

    def text(self, token: int) -> str:
        """Return the text of one token."""
        return self.task.vocab.tokens[token]

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of several tokens."""
        return self.task.vocab.decode(tokens)


@final
class TextReader:
    """Reads text with a tokenizer of transformers; `first` is the token that every text of training began with."""

    every = True

    def __init__(self, tokenizer: Any, first: int | None = None) -> None:
        self.tokenizer, self._first = tokenizer, first

    def read(self, text: str, *, answer: bool = False) -> Prompt:
        """Return the tokens of a text; nobody knows a true answer to it."""
        ids = [int(token) for token in self.tokenizer(text)["input_ids"]]
        if self._first is not None and ids[:1] != [self._first]:
            ids = [self._first, *ids]
        if not ids:
            raise UserError("there is no token in the text")
        return Prompt(ids=tuple(ids))

    def text(self, token: int) -> str:
        """Return the text of one token."""
        return str(self.tokenizer.decode([token]))

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of several tokens."""
        return str(self.tokenizer.decode(list(tokens)))
