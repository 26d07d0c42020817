"""What a page shows: a problem, and what each run makes of it, as plain data."""

import threading
from collections.abc import Sequence
from typing import Any, Final

from anira.config import UserError, nearest
from anira.evaluation.evaluate import EVAL_SEED
from anira.explore.requests import LAST_ROW, LONGEST_QUESTION, Choice, RowAddress
from anira.explore.runs import ExploredRun, check_length
from anira.site.pictures import picture
from anira.tasks import Knob

_BEYOND: Final = 2
"""How many times the largest trained knob rows go: they are made thousands at a time, which then takes long."""


class Explorer:
    """Some runs of one task. Instances are rows of the eval stream of the first run's task."""

    def __init__(self, runs: Sequence[ExploredRun]) -> None:
        self.runs = list(runs)
        self.task = self.runs[0].task
        self.parts = {part.subtask: part for part in self.task.parts()}
        self._lock = threading.Lock()  # a task keeps its latest rows, for one thread at a time

    @property
    def facts(self) -> dict[str, Any]:
        """What does not depend on the question: the task, its parts with their knobs, and the runs."""
        parts = [
            {
                "subtask": subtask,
                "knob": part.knob.name,
                "meaning": part.knob.meaning,
                "minimum": part.knob.minimum,
                "maximum": largest(part.knob),
                "seen": [part.knob.seen[0], part.knob.seen[-1]],
            }
            for subtask, part in self.parts.items()
        ]
        return {
            "task": self.task.name,
            "parts": parts,
            "last_row": LAST_ROW,
            "longest": LONGEST_QUESTION,
            "runs": [run.facts for run in self.runs],
        }

    @property
    def first_row(self) -> RowAddress:
        """Where a page begins: a trained knob of middle size."""
        subtask, part = next(iter(self.parts.items()))
        return RowAddress(subtask=subtask, knob=part.knob.seen[len(part.knob.seen) // 2], row=0)

    def pick(self, address: RowAddress) -> dict[str, Any]:
        """Return the problem of a row."""
        if address.subtask not in self.parts:
            raise UserError(
                f"task {self.task.name!r} has no subtask {address.subtask!r}: {nearest(address.subtask, self.parts)}"
            )
        part = self.parts[address.subtask]
        if address.knob > (most := largest(part.knob)):
            raise UserError(f"rows go up to {part.knob.name} = {most} here: type a harder question yourself")
        with self._lock:
            rows = part.rows(seed=EVAL_SEED, stream="eval", start=address.row, count=1, knob=address.knob)
        row = {"subtask": address.subtask, "knob": address.knob, "row": address.row}
        return {**self.problem(part.instance(rows, 0).question), "row": row}

    def problem(self, question: str) -> dict[str, Any]:
        """Return a question with its answer and its picture; what the task cannot read is a UserError."""
        if len(question) > LONGEST_QUESTION:
            raise UserError(f"a question has at most {LONGEST_QUESTION} characters, not {len(question)}")
        rows = self.task.read(question)
        check_length(rows)
        instance = self.task.instance(rows, 0)
        return {
            "question": question,
            "answer": instance.answer,
            "knob": int(rows.knob[0]),
            "picture": picture(self.task.name, instance.question, instance.answer),
            "drawing": instance.picture,
            "row": None,
        }

    def read(self, run: int, question: str, choice: Choice) -> dict[str, Any]:
        """Return what one of the runs makes of a question."""
        if not 0 <= run < len(self.runs):
            raise UserError(f"there are {len(self.runs)} runs here: {run} is none of them")
        if len(question) > LONGEST_QUESTION:
            raise UserError(f"a question has at most {LONGEST_QUESTION} characters, not {len(question)}")
        view = self.runs[run].read(question, choice)
        with self._lock:
            common = self.task.instance(self.task.read(question), 0).answer
        if view["answer"] != common:  # such as another group
            view["notes"].insert(0, f"its task has other options: the correct answer here is {view['answer']}")
        return view

    def state(self, problem: dict[str, Any], choices: Sequence[Choice]) -> dict[str, Any]:
        """Return all that a page without a server shows."""
        if len(choices) != len(self.runs):
            raise UserError(f"there are {len(self.runs)} runs here, and {len(choices)} choices of depth")
        views = [self.read(i, problem["question"], choice) for i, choice in enumerate(choices)]
        return {**self.facts, "problem": problem, "choices": list(map(vars, choices)), "views": views}


def largest(knob: Knob) -> int:
    """Return the largest knob of the rows that can be picked."""
    return min(knob.maximum, _BEYOND * knob.seen[-1])
