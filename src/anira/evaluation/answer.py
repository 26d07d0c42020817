"""A question that somebody typed, answered token by token."""

from typing import Any

import torch

from anira.config import UserError
from anira.inference import Stepwise
from anira.models import AniraForCausalLM
from anira.tasks import BlockTask


def answer(
    model: AniraForCausalLM, task: BlockTask, question: str, *, select: str | None, threshold: float | None
) -> dict[str, Any]:
    """Read the question, write as many tokens as the true answer has; return tokens, depths, and both answers."""
    rows = task.read(question)
    start = rows.answer_positions(0)[0]
    if not rows.has_one_answer(0):
        raise UserError("a question with several answers is not answered here: ask for one at a time")
    if start == 1 and question.split():  # a whole sentence of LANO: the model would not read any of it
        raise UserError("the question is a whole string, and nothing is left to write: leave out its <eos>")
    truth = rows.answer(0)
    session = Stepwise(model, select=select, threshold=threshold)
    token = torch.tensor([rows.ids(0)[:start]])
    ids, depths, written = list(rows.ids(0)[:start]), [], []
    for _ in truth:
        fed = session.feed(token)
        depths += fed.exit_depth[0].tolist()
        token = fed.logits.argmax(-1, keepdim=True)
        written.append(int(token))
    ids += written[:-1]
    grade = task.grade(rows, 0, written)
    return {
        "tokens": [task.vocab.tokens[i] for i in ids],
        "depths": depths,
        "answer": task.vocab.decode(written),
        "true_answer": task.vocab.decode(truth),
        "correct": grade.exact,
        "lenient_correct": grade.lenient,
        "mean_depth": session.cost().mean_depth,
    }
