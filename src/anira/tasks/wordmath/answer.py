"""The answer to a word problem, word by word, with what each word takes."""

from collections.abc import Iterator
from dataclasses import dataclass

from anira.tasks.vocab import EOS
from anira.tasks.wordmath.reading import Problem
from anira.tasks.wordmath.sentences import FINAL


@dataclass(frozen=True, kw_only=True)
class Written:
    """A word of an answer, and what it takes to write it."""

    word: str
    clause: int | None
    """The last clause that the word follows from; 0 is the opening."""
    left: int
    """Operations whose results have not been written before the word."""
    lookups: int = 0
    """Sentences of the story that have to be found for this word; what was written before can be copied."""
    work: int = 0
    """Operations that have to be carried out for this word."""


def write_answer(problem: Problem, *, steps: bool) -> Iterator[Written]:
    """Yield the words of the answer."""
    size = len(problem.steps)
    for k, step in enumerate(problem.steps if steps else (), 1):
        left = size - k + 1
        if problem.kind == "comparisons":
            yield Written(word=step.name, clause=k, left=left, lookups=1)
            yield Written(word=":", clause=None, left=left)
        yield Written(word=str(step.left), clause=k - 1, left=left, lookups=int(k == 1))
        yield Written(word=step.sign, clause=k, left=left, lookups=1)
        yield Written(word=str(step.right), clause=k, left=left, lookups=1)
        yield Written(word="=", clause=None, left=left)
        yield Written(word=str(step.result), clause=k, left=left, work=1)
        yield Written(word=".", clause=None, left=left - 1)
    left, lookups = (0, 0) if steps else (size, size + 1)
    if steps:  # a mark before the number alone would be one more position at which work can be done
        yield Written(word=FINAL, clause=None, left=left)
    yield Written(word=str(problem.result), clause=size, left=left, lookups=lookups, work=left)
    yield Written(word=EOS, clause=None, left=0)
