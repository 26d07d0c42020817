"""Rows of CLRS-Text from elsewhere, brought to one form: without traces, checked, with subtask and size.

Accepted are `question` and `answer` (the published sets) as well as `prompt` and `references` (upstream's script), with
traces or without, and an answer as text or as a list of one. Numbers are kept as they are written.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from anira.config import UserError
from anira.tasks.clrs.algorithms import ALGORITHMS
from anira.tasks.clrs.fields import Style, quoted, shorten_reals
from anira.tasks.clrs.task import CHARACTERS, LARGEST
from anira.tasks.clrs.text import Problem, parse, question_lines, read_answer
from anira.tasks.clrs.traces import has_trace, strip_trace

FIELDS: Final = ("question", "prompt", "answer", "references", "algo_name", "algo", "length", "auxiliary")
"""What is read of a row."""


@dataclass(frozen=True, kw_only=True)
class PublishedRow:
    """A row that was read."""

    subtask: str
    algorithm: str
    """Empty where the row names only the subtask."""
    size: int
    question: str
    answer: str
    traced: bool
    """Whether a trace was taken out."""


def normalise(row: Mapping[str, Any], style: Style) -> PublishedRow:
    """Return a row in our form; one that cannot be read is a UserError that says why."""
    question, answer = _text(row, "question", "prompt"), _text(row, "answer", "references")
    traced = has_trace(question)
    question, answer = strip_trace(question, answer)
    problem = parse(question)
    read_answer(problem.algorithm, answer, problem.size)
    _check_name(row, problem)
    header, inputs, names = question_lines(question)
    if style == "anira":
        header, inputs, answer = problem.subtask, shorten_reals(inputs), shorten_reals(answer)
    question = f"{header}:\n{inputs}\n{names}:\n"
    strange = set(question + answer) - set(CHARACTERS)
    if strange:
        raise UserError(f"the row holds characters that no row has: {' '.join(map(ascii, sorted(strange)[:20]))}")
    return PublishedRow(
        subtask=problem.subtask,
        algorithm=problem.header if problem.header in ALGORITHMS else "",
        size=_size(row, problem),
        question=question,
        answer=answer,
        traced=traced,
    )


def _text(row: Mapping[str, Any], *names: str) -> str:
    """Return the text in the first of these fields that the row has, alone or in a list of one."""
    present = [name for name in names if row.get(name) is not None]
    if not present:
        has = ", ".join(list(row)[:20])
        raise UserError(f"the row has neither {' nor '.join(names)}; it has {has or 'nothing'}")
    value = row[present[0]]
    if isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]
    if not isinstance(value, str):
        raise UserError(f"{present[0]} must be text or a list of one text")
    return value


def _check_name(row: Mapping[str, Any], problem: Problem) -> None:
    named = row.get("algo_name") or row.get("algo") or problem.header
    if named != problem.header:
        raise UserError(f"the row is said to be {quoted(named)}, but its question begins with {problem.header}")


def _size(row: Mapping[str, Any], problem: Problem) -> int:
    """Return the input size, which the row may also state; two segments have 4 points at every stated size."""
    auxiliary = row.get("auxiliary")
    stated = auxiliary.get("length") if isinstance(auxiliary, Mapping) else row.get("length")
    if stated is None:
        return problem.size
    if not isinstance(stated, int) or isinstance(stated, bool) or not 1 <= stated <= LARGEST:
        raise UserError(f"the length must be 1 to {LARGEST}, not {quoted(stated)}")
    if stated != problem.size and problem.subtask != "segments_intersect":
        raise UserError(f"the length is said to be {stated}, but the question has size {problem.size}")
    return stated
