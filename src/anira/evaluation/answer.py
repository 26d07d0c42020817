"""A question that somebody typed, answered token by token."""

from typing import Any

from anira.config import UserError
from anira.inference.greedy import Written, write_greedily
from anira.models import AniraForCausalLM
from anira.tasks import BlockTask, Rows


def answer(
    model: AniraForCausalLM, task: BlockTask, question: str, *, select: str | None, threshold: float | None
) -> dict[str, Any]:
    """Read the question, write as many tokens as the true answer has; return tokens, depths, and both answers."""
    rows, start = read_question(task, question)
    truth = rows.answer(0)
    said = write_greedily(model, rows.ids(0)[:start], len(truth), select=select, threshold=threshold)
    return {
        "tokens": [task.vocab.tokens[i] for i in said.ids],
        "depths": list(said.exit_depth),
        **graded(task, rows, said),
        "mean_depth": said.mean_depth,
    }


def read_question(task: BlockTask, question: str) -> tuple[Rows, int]:
    """Return the row of a question that has one answer, and where the answer begins."""
    rows = task.read(question)
    start = rows.answer_positions(0)[0]
    if not rows.has_one_answer(0):
        raise UserError("a question with several answers is not answered here: ask for one at a time")
    if start == 1 and question.split():  # a whole sentence of LANO: the model would not read any of it
        raise UserError("the question is a whole string, and nothing is left to write: leave out its <eos>")
    return rows, start


def graded(task: BlockTask, rows: Rows, said: Written) -> dict[str, Any]:
    """Return what was written, the true answer, and whether they agree."""
    grade = task.grade(rows, 0, said.written)
    return {
        "answer": task.vocab.decode(said.written),
        "true_answer": task.vocab.decode(rows.answer(0)),
        "correct": grade.exact,
        "lenient_correct": grade.lenient,
    }
