"""The published files, in the layout of the hub or of GitHub, read and checked.

    hub      main/test.jsonl  p1/test.jsonl  p2/test.jsonl
    GitHub   generated_data/GSM_symbolic.jsonl  GSM_p1.jsonl  GSM_p2.jsonl

A line of main/test.jsonl, shortened:

    {"id": 3, "instance": 17, "question": "...", "answer": "... #### 32.5", "original_id": 412, ...}

`id` is the number of the template in its split, `original_id` that of the GSM8K question that it was made from. The 50
templates of P2 are among the 100 of Main and P1 by `original_id`, so P2 compares fairly with Main on those alone.
"""

import hashlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from anira.config import UserError, nearest
from anira.config.sealed import parse_json
from anira.tasks.gsm_symbolic.answers import last_number

SPLITS: Final = ("main", "p1", "p2")
"""By the number of clauses that they add."""
_GITHUB: Final = {"main": "GSM_symbolic.jsonl", "p1": "GSM_p1.jsonl", "p2": "GSM_p2.jsonl"}
_KEYS: Final = {"id": int, "instance": int, "question": str, "answer": str, "original_id": int}
_GOLD: Final = re.compile(r"####\s*\$?(-?[\d,]+\.?\d*)\s*$", re.ASCII)
_HARDEST: Final = "p2"


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One question."""

    split: str
    id: int
    """Number of the template in its split."""
    instance: int
    """Number of the data set: one question from each template."""
    template: int
    """The GSM8K question behind the template, the same in all splits."""
    question: str
    answer: str
    gold: float

    @property
    def knob(self) -> int:
        """Clauses more than in Main."""
        return SPLITS.index(self.split)


@dataclass(frozen=True)
class Problems:
    """The questions of some splits, one data set after the other: the first 100 of Main have instance 0."""

    by_split: Mapping[str, tuple[Problem, ...]]
    digests: Mapping[str, str]
    """Check-sums of what was read, by split."""
    shared: frozenset[int] | None
    """The templates of P2; None where P2 was not read."""


def check_splits(names: Sequence[str]) -> tuple[str, ...]:
    """Return splits in their order; one that does not exist, or none, is refused.

    >>> check_splits(["p2", "main"])
    ('main', 'p2')
    """
    for name in names:
        if name not in SPLITS:
            raise UserError(f"GSM-Symbolic has no split {name!r}: {nearest(name, SPLITS)}")
    if not names:
        raise UserError(f"name at least one split of {', '.join(SPLITS)}")
    return tuple(name for name in SPLITS if name in names)


def read_folder(folder: Path, splits: Sequence[str] = SPLITS) -> Problems:
    """Return the questions in a folder; what is wrong with its files is a UserError.

    P2 is read for its templates wherever it lies there, also when it is not asked for.
    """
    if not folder.is_dir():
        raise UserError(f"{folder} is no folder: give the one that the files of GSM-Symbolic lie in")
    contents = {name: _read_file(_find(folder, name), name) for name in check_splits(splits)}
    if _HARDEST not in contents and any(path.is_file() for path in _places(folder, _HARDEST)):
        contents[_HARDEST] = _read_file(_find(folder, _HARDEST), _HARDEST)
    return gathered(
        {name: rows for name, (rows, _) in contents.items()}, splits, {n: d for n, (_, d) in contents.items()}
    )


def gathered(rows: Mapping[str, Sequence[Problem]], splits: Sequence[str], digests: Mapping[str, str]) -> Problems:
    """Return the questions of the splits that are asked for, and what is known of the shared templates."""
    shared = frozenset(one.template for one in rows[_HARDEST]) if _HARDEST in rows else None
    asked = check_splits(splits)
    return Problems({name: tuple(rows[name]) for name in asked}, {name: digests[name] for name in asked}, shared)


def parse_rows(rows: Iterable[tuple[str, Any]], split: str) -> list[Problem]:
    """Return rows as problems in the order of data sets; each comes with its place, for messages."""
    found: dict[tuple[int, int], Problem] = {}
    for place, row in rows:
        problem = _problem(row, split, place)
        key = (problem.instance, problem.id)
        if key in found:
            raise UserError(f"{place}: template {problem.id}, instance {problem.instance} is there twice")
        found[key] = problem
    return [found[key] for key in sorted(found)]


def _places(folder: Path, split: str) -> list[Path]:
    github = _GITHUB[split]
    return [folder / split / "test.jsonl", folder / "generated_data" / github, folder / github]


def _find(folder: Path, split: str) -> Path:
    for path in _places(folder, split):
        if path.is_file():
            return path
    raise UserError(
        f"{folder} has no split {split}: it should lie in {split}/test.jsonl (as on the hub) or in "
        f"generated_data/{_GITHUB[split]} (as on GitHub)"
    )


def _read_file(path: Path, split: str) -> tuple[list[Problem], str]:
    """Return the questions in a file, and its check-sum."""
    content = path.read_bytes()
    lines = [(f"{path}, line {i}", line) for i, line in enumerate(content.splitlines(), start=1) if line.strip()]
    if not lines:
        raise UserError(f"{path} is empty")
    return parse_rows(((place, _parse(line, place)) for place, line in lines), split), hashlib.sha256(
        content
    ).hexdigest()


def _parse(line: bytes, place: str) -> Any:
    try:
        return parse_json(line)
    except ValueError as error:
        raise UserError(f"{place}: not JSON: {error}") from None


def _problem(row: Any, split: str, place: str) -> Problem:
    if not isinstance(row, Mapping):
        raise UserError(f"{place}: a row must be an object with {', '.join(_KEYS)}")
    for name, kind in _KEYS.items():
        if name not in row:
            raise UserError(f"{place}: {name!r} is missing")
        if type(row[name]) is not kind:
            raise UserError(f"{place}: {name!r} must be {kind.__name__}, not {row[name]!r}")
    gold = _gold(row["answer"])
    if gold is None:
        raise UserError(f"{place}: the answer does not end in '#### N'")
    return Problem(
        split=split,
        id=row["id"],
        instance=row["instance"],
        template=row["original_id"],
        question=row["question"],
        answer=row["answer"],
        gold=gold,
    )


def _gold(answer: str) -> float | None:
    found = _GOLD.search(answer)
    number = None if found is None else last_number(found[1])
    return number if number is not None and math.isfinite(number) else None
