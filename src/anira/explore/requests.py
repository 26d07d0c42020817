"""What a page may ask: typed, bounded, and nothing else; every key must be there and no other."""

import json
from dataclasses import dataclass
from typing import Final, TypeVar

from anira.config import UserError, from_dict
from anira.runs.looking import Rule

LONGEST_QUESTION: Final = 20_000
"""Characters."""
LARGEST_BODY: Final = 100_000
"""Bytes of a request: the longest question, however it is escaped, with room for everything else."""
LAST_ROW: Final = 999_999
"""Of a stream; rows have no end, and a page needs none further away."""

R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class Choice:
    """How depth is chosen: by a rule of the policy, by default its own, or the same depth for every token."""

    select: str | None = None
    threshold: float | None = None
    depth: int | None = None

    def __post_init__(self) -> None:
        if self.depth is not None and (self.select, self.threshold) != (None, None):
            raise UserError("a forced depth leaves nothing to choose: leave out select and threshold")
        if self.depth is not None and self.depth < 1:
            raise UserError(f"a forced depth must be at least 1, not {self.depth}")

    @property
    def rule(self) -> Rule:
        """The same as a run takes it."""
        return Rule(select=self.select, threshold=self.threshold, exit_depth=self.depth)


@dataclass(frozen=True, kw_only=True)
class RowAddress:
    """A row of the eval stream of a task, or of a part of it."""

    subtask: str
    knob: int
    row: int

    def __post_init__(self) -> None:
        if not 0 <= self.row <= LAST_ROW:
            raise UserError(f"rows go from 0 to {LAST_ROW}, not {self.row}")


@dataclass(frozen=True, kw_only=True)
class ProblemRequest:
    """Which problem: a typed question, or a row."""

    question: str | None
    row: RowAddress | None

    def __post_init__(self) -> None:
        if (self.question is None) == (self.row is None):
            raise UserError("a problem is a question or a row")


@dataclass(frozen=True, kw_only=True)
class ReadRequest:
    """A question to one of the runs."""

    run: int
    question: str
    choice: Choice


@dataclass(frozen=True, kw_only=True)
class ExportRequest:
    """A whole page: the question, where it comes from, and how each run chooses depth."""

    question: str
    row: RowAddress | None
    choices: tuple[Choice, ...]


def parse_request(kind: type[R], body: bytes) -> R:
    """Return a request from its JSON.

    >>> parse_request(RowAddress, b'{"subtask": "", "knob": 3, "row": 7}').row
    7
    """
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise UserError("the request is not JSON") from error
    return from_dict(kind, data)
