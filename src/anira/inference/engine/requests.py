"""What is asked of the engine, and what comes back."""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from anira.inference.engine.sampling import Sampling
from anira.models.host import Numbers

Reason = Literal["", "length", "stop", "cancelled", "failed"]


class Token(NamedTuple):
    """A generated token, and the depth at the position that predicted it."""

    id: int
    exit_depth: int


class Generated(NamedTuple):
    """A finished generation."""

    tokens: tuple[int, ...]
    exit_depth: tuple[int, ...]
    """Of each generated token: the depth at the position that predicted it."""
    prompt_depth: tuple[int, ...]
    """Of each token of the prompt."""
    reason: Reason
    """Why it ended: length (max_new_tokens), stop (a token that ends it), or cancelled."""


class Lane(NamedTuple):
    """How depth is chosen; requests with the same go through the policy together."""

    select: str | None = None
    threshold: float | None = None
    exit_depth: int | None = None


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a request is answered."""

    max_new_tokens: int
    lane: Lane = field(default_factory=Lane)
    stop: frozenset[int] = frozenset()
    sampling: Sampling = field(default_factory=Sampling)
    buffer: int | None = None
    """So many tokens may wait for their reader before the request pauses; None: any number."""


@dataclass(eq=False)
class Chunk:
    """Tokens of one request that entered the model together: a part of its prompt, or one that was generated."""

    first: int
    size: int
    answers: bool
    """Whether its last token predicts one that is wanted."""
    left: int = field(init=False)
    """Tokens that are still in the core."""
    depths: Numbers = field(init=False)
    states: list[tuple[Numbers, Float[Tensor, "tokens dim"]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.left, self.depths = self.size, np.zeros(self.size, dtype=np.int64)

    def add(self, places: Numbers, states: Float[Tensor, "tokens dim"]) -> None:
        """Note the states of tokens that have left the core."""
        self.states.append((places, states))
        self.left -= len(places)

    def assembled(self) -> Float[Tensor, "tokens dim"]:
        """Return the states of all tokens in their order; they left the core at different times."""
        if len(self.states) == 1:
            return self.states[0][1]
        order = np.argsort(np.concatenate([places for places, _ in self.states]))
        states = torch.cat([states for _, states in self.states])
        return states[torch.from_numpy(order).to(states.device)]


class Handle:
    """A request on its way: iterate over its tokens as they come, or wait for all of them.

    Handles are made by `Engine.submit`.
    """

    def __init__(
        self,
        prompt: list[int],
        options: Options,
        drive: Callable[["Handle"], None],
        listener: Callable[[], None] | None = None,
    ) -> None:
        self.prompt, self.options = prompt, options
        self.tokens: list[Token] = []
        self.prompt_depth: list[int] = []
        self.reason: Reason = ""
        self.error: BaseException | None = None
        self.cancelled = False
        self.row = -1
        self.fed = 0  # tokens of prompt and answer that have entered the model
        self.chunks: deque[Chunk] = deque()  # of tokens that have not been read out
        self.changed = threading.Condition()
        self._read = 0
        self._drive, self._listener = drive, listener

    @property
    def done(self) -> bool:
        """Whether nothing more will come."""
        return bool(self.reason)

    @property
    def paused(self) -> bool:
        """Whether its reader is too far behind."""
        return self.options.buffer is not None and len(self.tokens) - self._read >= self.options.buffer

    def cancel(self) -> None:
        """Ask for no more tokens; those that there are stay."""
        self.cancelled = True

    def announce(self) -> None:
        """Wake whoever waits for something new."""
        with self.changed:
            self.changed.notify_all()
        if self._listener is not None:
            self._listener()

    def __iter__(self) -> Iterator[Token]:
        """Yield tokens as they come."""
        number = 0
        while True:
            while number >= len(self.tokens) and not self.done:
                self._drive(self)
            if number >= len(self.tokens):
                break
            number += 1
            self._read = max(self._read, number)
            yield self.tokens[number - 1]
        if self.error is not None:
            raise self.error

    def result(self) -> Generated:
        """Wait until the generation is over, and return it."""
        tokens = tuple(self)
        depths = tuple(token.exit_depth for token in tokens)
        return Generated(tuple(token.id for token in tokens), depths, tuple(self.prompt_depth), self.reason)

    def chunk_at(self, column: int) -> Chunk:
        """Return the chunk that a token on its way belongs to."""
        for chunk in self.chunks:
            if chunk.first <= column < chunk.first + chunk.size:
                return chunk
        raise AssertionError(f"no token is on its way at column {column}")

    def complete(self) -> list[Chunk]:
        """Take the chunks whose tokens have all left the core, if those before them have too."""
        done = []
        while self.chunks and self.chunks[0].left == 0:
            done.append(self.chunks.popleft())
        return done

    def next_chunk(self, most: int) -> Chunk | None:
        """Return the tokens that can enter now: a part of the prompt, or the last one that was generated."""
        left = len(self.prompt) - self.fed
        if left > 0:
            size = min(left, most)
            return Chunk(self.fed, size, answers=size == left)
        return None if self.chunks or self.paused else Chunk(self.fed, 1, answers=True)

    def enter(self, chunk: Chunk) -> list[int]:
        """Let a chunk in, and return its tokens."""
        self.chunks.append(chunk)
        self.fed += chunk.size
        if chunk.first < len(self.prompt):
            return self.prompt[chunk.first : chunk.first + chunk.size]
        return [self.tokens[-1].id]
