"""MANO in plain Python: grow one expression, evaluate it, write it down."""

from collections.abc import Sequence
from random import Random

from anira.config import UserError
from anira.tasks.mano import ManoConfig

EOS, BOS, ANSWER, FIRST_OPERATOR = range(1, 5)  # 0 is padding; the values follow the operators
IGNORE = -100


def generate(rng: Random, config: ManoConfig, knob: int | None = None) -> tuple[list[int], list[int]]:
    """Return the input ids and the labels of one row."""
    if config.length_tokens or config.synonyms:
        raise UserError("the plain generator of MANO writes neither length_tokens nor synonyms: leave both off")
    words: list[str] = []
    grow(rng, rng.randint(config.min_size, config.max_size) if knob is None else knob, config, words)
    return write(words, solve(words, config.modulus), config)


def grow(rng: Random, size: int, config: ManoConfig, words: list[str]) -> None:
    """Append a random expression with `size` operators; its left operand holds 0 .. size - 1 of them, uniformly."""
    if size == 0:
        words.append(str(rng.randrange(config.modulus)))
        return
    words.append(rng.choice(config.operators))
    left = rng.randrange(size)
    grow(rng, left, config, words)
    grow(rng, size - 1 - left, config, words)


def solve(words: Sequence[str], modulus: int) -> int:
    """Return the value of a prefix expression: read from the right, operands wait on a stack for their operator.

    >>> solve("+ + 5 3 - 12 17".split(), 23)
    3
    """
    stack: list[int] = []
    for word in reversed(words):
        if word == "+":
            stack.append(stack.pop() + stack.pop())
        elif word == "-":
            stack.append(stack.pop() - stack.pop())
        elif word == "*":
            stack.append(stack.pop() * stack.pop())
        else:
            stack.append(int(word))
    (value,) = stack
    return value % modulus


def write(words: Sequence[str], value: int, config: ManoConfig) -> tuple[list[int], list[int]]:
    """Return the row `<bos> expression <ans> value <eos>` and its labels; only the value is supervised."""
    operators, first_value = config.operators, FIRST_OPERATOR + len(config.operators)
    expression = [
        FIRST_OPERATOR + operators.index(word) if word in operators else first_value + int(word) for word in words
    ]
    ids = [BOS, *expression, ANSWER, first_value + value, EOS]
    labels = [IGNORE] * len(ids)
    labels[-2] = ids[-2]
    return ids, labels
