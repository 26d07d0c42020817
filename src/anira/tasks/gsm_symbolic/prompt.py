"""The authors' prompt: one line, eight solved examples, and the question.

As an expert problem solver, solve step by step the following mathematical questions.

Q: A baker had 5 loaves and sold 2. How many are left?
A: Let's think step by step. There were 5 loaves. 5 - 2 = 3. The final answer is 3.

Q: the question
A: Let's think step by step.

The examples are those of gsm8k-cot, which are not part of this package (see anira.evaluation.gsm_symbolic.sources).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from anira.config import UserError

HEAD: Final = "As an expert problem solver, solve step by step the following mathematical questions."
STOP: Final = "Q:"
"""Where a model begins another question, its answer has ended."""
_BEGIN: Final = "A: Let's think step by step."
_END: Final = re.compile(r"^(?P<steps>.*?)\s*The (?:final )?answer is (?P<number>-?[\d,.]*\d)\.?$", re.DOTALL)


@dataclass(frozen=True)
class Shot:
    """A solved example."""

    question: str
    steps: str
    number: str


def make_shot(question: str, target: str) -> Shot:
    """Return an example whose target ends in "The answer is N."; another one is refused.

    >>> make_shot("How many?", "There are 2 + 1 = 3. The answer is 3.")
    Shot(question='How many?', steps='There are 2 + 1 = 3.', number='3')
    """
    found = _END.match(target.strip())
    if not question.strip() or found is None:
        raise UserError(f"an example needs a question and a target that ends in 'The answer is N.': {target[:80]!r}")
    return Shot(question.strip(), found["steps"], found["number"])


def shots_text(shots: Sequence[Shot]) -> str:
    """Return what all prompts begin with."""
    solved = [f"{STOP} {one.question}\n{_BEGIN} {one.steps} The final answer is {one.number}." for one in shots]
    return "".join(f"{part}\n\n" for part in (HEAD, *solved))


def make_prompt(shots: Sequence[Shot], question: str) -> str:
    """Return the prompt of a question."""
    return f"{shots_text(shots)}{STOP} {question}\n{_BEGIN}"
