"""What a model does with a text, token by token: depths, predictions after each iteration, and what it writes.

Each of these prints as a table, and a notebook draws it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, final

import polars as pl

from anira.config import layout, printable
from anira.site.fragments import fragment, lens, strip

_SHOWN: Final = 60
"""Tokens that are printed, the last ones of a longer text."""


class Guess(NamedTuple):
    """A token that may come next."""

    text: str
    prob: float


@final
@dataclass(frozen=True, kw_only=True)
class Token:
    """An input token, its depth, and what the model says comes next."""

    position: int
    id: int
    text: str
    exit_depth: int
    exit_probs: tuple[float, ...] | None = None
    """q(1), q(2), ...; None where the policy has no distribution, or the depth was forced."""
    predicts: str
    """The likeliest next token."""
    truth: str | None = None
    """The next token by the task's reference solver, where it was trained to be predicted."""
    asked: bool = True
    """Whether a next token was trained here: what a model says in the middle of a question means nothing."""
    after: tuple[tuple[Guess, ...], ...] = ()
    """For each iteration that the token executed, the likeliest next tokens if all tokens had stopped after it."""

    def shown(self) -> dict[str, Any]:
        """Return what is drawn of it."""
        said = {"predicts": self.predicts, "truth": self.truth} if self.asked else {}
        return {"text": self.text, "depth": self.exit_depth, "probs": self.exit_probs, "after": self.after, **said}


def token_table(tokens: Sequence[Token]) -> pl.DataFrame:
    """Return one row per token."""
    names = ("position", "id", "text", "exit_depth", "exit_probs", "predicts", "truth")
    schema: Mapping[str, Any] = dict(
        zip(
            names,
            (pl.Int64, pl.Int64, pl.String, pl.Int64, pl.List(pl.Float64), pl.String, pl.String),
            strict=True,
        )
    )
    return pl.DataFrame([[getattr(token, name) for name in names] for token in tokens], schema=schema, orient="row")


@final
@dataclass(frozen=True)
class Depths:
    """Every token of a text with its depth."""

    tokens: tuple[Token, ...]
    max_depth: int

    @property
    def mean_depth(self) -> float:
        """The mean over all tokens."""
        return sum(token.exit_depth for token in self.tokens) / len(self.tokens)

    @property
    def table(self) -> pl.DataFrame:
        """One row per token."""
        return token_table(self.tokens)

    def __repr__(self) -> str:
        return f"{_lines(self.tokens)}\nmean depth {self.mean_depth:.2f} of {self.max_depth}"

    def _repr_html_(self) -> str:
        title = f"mean depth {self.mean_depth:.2f} of {self.max_depth}"
        return fragment(strip([token.shown() for token in self.tokens], self.max_depth, title=title))


@final
@dataclass(frozen=True)
class Predictions:
    """What the model would say after each iteration: the logit lens, token by token, exact through the coda."""

    tokens: tuple[Token, ...]
    max_depth: int

    @property
    def table(self) -> pl.DataFrame:
        """One row per token, iteration and guess: position, text, iteration, rank, guess, prob, truth."""
        rows = [
            (token.position, token.text, iteration, rank, guess.text, guess.prob, token.truth)
            for token in self.tokens
            for iteration, guesses in enumerate(token.after, 1)
            for rank, guess in enumerate(guesses, 1)
        ]
        whole = pl.Int64
        kinds = {"position": whole, "text": pl.String, "iteration": whole, "rank": whole}
        return pl.DataFrame(
            rows, schema={**kinds, "guess": pl.String, "prob": pl.Float64, "truth": pl.String}, orient="row"
        )

    def __repr__(self) -> str:
        shown = [token for token in self.tokens if token.asked][-_SHOWN:]
        head = ["token", "depth", *(f"after {d}" for d in range(1, self.max_depth + 1))]
        return layout(
            head, [[_seen(token.text), str(token.exit_depth), *_firsts(token, self.max_depth)] for token in shown]
        )

    def _repr_html_(self) -> str:
        return fragment(lens([token.shown() for token in self.tokens if token.asked]))


@final
@dataclass(frozen=True, kw_only=True)
class Generation:
    """What a model wrote after a prompt. Its tokens are those that it read: the last one written is not among them."""

    tokens: tuple[Token, ...]
    max_depth: int
    answer: str
    """What was written."""
    true_answer: str | None = None
    """The reference solver's, where the prompt is a question of the run's task."""
    correct: bool | None = None
    lenient_correct: bool | None = None
    """The same under the task's lenient rule."""
    mean_depth: float
    """Iterations executed per token."""

    @property
    def table(self) -> pl.DataFrame:
        """One row per token that was read."""
        return token_table(self.tokens)

    @property
    def verdict(self) -> str:
        """Whether the answer is right, in words; empty where nobody knows."""
        if self.correct is None or self.correct:
            return "" if self.correct is None else " (right)"
        return f" ({'right too, beside' if self.lenient_correct else 'wrong, it is'} {self.true_answer})"

    def __repr__(self) -> str:
        said = f"answer {printable(self.answer)}{printable(self.verdict)}"
        return f"{_lines(self.tokens)}\n{said}\nmean depth {self.mean_depth:.2f} of {self.max_depth}"

    def _repr_html_(self) -> str:
        title = f"answer {self.answer}{self.verdict}, mean depth {self.mean_depth:.2f} of {self.max_depth}"
        return fragment(strip([token.shown() for token in self.tokens], self.max_depth, title=title))


def _lines(tokens: Sequence[Token]) -> str:
    """Return one line per token: text, depth, and where one was trained, the next token."""
    rows = [[_seen(token.text), str(token.exit_depth), _next(token)] for token in tokens[-_SHOWN:]]
    return layout(["token", "depth", "predicts"], rows)


def _next(token: Token) -> str:
    if not token.asked:
        return ""
    wrong = token.truth not in (None, token.predicts)
    return _seen(token.predicts) + (f" (true: {_seen(str(token.truth))})" if wrong else "")


def _firsts(token: Token, max_depth: int) -> list[str]:
    """Return the likeliest token after each iteration, with its probability; nothing after the exit."""
    said = [f"{_seen(guesses[0].text)} {guesses[0].prob:.2f}" for guesses in token.after]
    return said + [""] * (max_depth - len(said))


def _seen(text: str) -> str:
    return text if text.isprintable() and text.strip() else repr(text)
