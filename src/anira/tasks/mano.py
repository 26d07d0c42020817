"""MANO: the value of a modular prefix expression (Allen-Zhu, Physics of Language Models 4.1; laws in docs/tasks.md).

The row of `+ (+ 5 3) (- 12 17)` modulo 23, with 3 operators:

    token    <bos>  +   +   5   3   -   12  17  <ans>  3   <eos>
    label      .    .   .   .   .   .   .   .    .     3    .
    stack      .    0   1   2   2   1   2   2    .     .    .      operators still open before the token
    remaining  .    0   2   2   1   1   2   1    .     .    .      operands the innermost open one still needs
    completed  .    0   0   0   0   1   0   0    .     .    .      operators in the subtree that just closed
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from anira.config import UserError
from anira.tasks.base import IGNORE, BlockTask, Floats, Instance, Ints, Knob, Probe, Rows
from anira.tasks.vocab import ANSWER, BOS, EOS, PAD, Vocab

OPERATORS: Final = ("+", "-", "*")
_LARGEST_MODULUS = 1000  # the table of operations holds every pair of values
_LARGEST = 200  # operators; a bound against typing errors, far beyond what a model can be asked


@dataclass(frozen=True, kw_only=True)
class ManoConfig:
    """What a MANO expression is made of, and how it is written."""

    modulus: int = 23
    """Values are 0 .. modulus - 1."""
    operators: tuple[str, ...] = OPERATORS
    """Any of + - *."""
    min_size: int = 3
    """Fewest operators in a training row."""
    max_size: int = 16
    """Most operators in a training row; sizes are uniform."""
    length_tokens: bool = False
    """Write the size after <bos> and into the answer marker, as the reference generator does (gives the knob away)."""
    synonyms: bool = False
    """Write <bos>, operators and markers as one of two twins at random, as the reference generator does."""

    def __post_init__(self) -> None:
        if not 2 <= self.modulus <= _LARGEST_MODULUS:
            raise UserError(f"modulus must be 2 to {_LARGEST_MODULUS}, not {self.modulus}")
        if not self.operators or len(set(self.operators)) < len(self.operators) or set(self.operators) - {*OPERATORS}:
            raise UserError(f"operators must be distinct and among + - *, not {' '.join(self.operators) or 'none'}")
        if not 1 <= self.min_size <= self.max_size <= _LARGEST:
            raise UserError(
                f"sizes must satisfy 1 <= min_size <= max_size <= {_LARGEST}, not {self.min_size}, {self.max_size}"
            )


class Trees(NamedTuple):
    """A batch of expressions in prefix order, one column an expression, one row a position (0 after its end)."""

    sizes: Ints  # operators in the subtree that starts here
    right: Ints  # position of the right child, where there is an operator
    symbols: Ints  # index of the operator, or value of the operand
    values: Ints  # value of the subtree that starts here


class Mano(BlockTask):
    """`<bos> expression <ans> value <eos>`; only the value is supervised."""

    name = "mano"
    summary = "value of a modular prefix expression"
    Config = ManoConfig
    config: ManoConfig
    probe_specs = (
        Probe(name="stack_depth", anchor="input", meaning="operators still open before the token"),
        Probe(name="remaining_operands", anchor="input", meaning="operands the innermost open operator still needs"),
        Probe(
            name="completed_size", anchor="input", meaning="operators in the largest subtree closed by the last token"
        ),
        Probe(
            name="completed_sum", anchor="input", meaning="the same, summed over all subtrees closed by the last token"
        ),
        Probe(name="is_operator", anchor="input", meaning="1 at operators, 0 at operands"),
    )

    def __init__(self, config: ManoConfig | None = None) -> None:
        super().__init__(config)
        self.vocab = Vocab(_tokens(self.config))
        low, high = self.config.min_size, self.config.max_size
        self.knob = Knob(
            name="L",
            meaning="operators in the expression",
            cost="L reductions",
            seen=tuple(range(low, high + 1)),
            minimum=low if self.config.length_tokens else 1,
            maximum=high if self.config.length_tokens else _LARGEST,
        )
        self._table = _operation_table(self.config)

    def generate(self, rng: np.random.Generator, index: Ints, knob: int | None) -> Rows:
        """Draw sizes, then shapes and symbols position by position for all rows at once."""
        config = self.config
        if knob is None:
            sizes = rng.integers(config.min_size, config.max_size + 1, size=len(index))
        else:
            sizes = np.full(len(index), knob)
        trees = _grow(rng, sizes, modulus=config.modulus, table=self._table)
        # Twins come from a stream of their own: the expressions are the same with and without them.
        twins = rng.spawn(1)[0] if config.synonyms else None
        return self._write(trees, sizes, twins)

    def read(self, question: str) -> Rows:
        """Return the row of an expression typed by hand, as in `+ + 5 3 - 12 17`.

        With `synonyms` the plain tokens are written; with `length_tokens` the size tokens are added here.
        """
        self.vocab.encode(question)  # refuses unknown tokens
        words = [word.rstrip("'") for word in question.split()]
        while words and words[0].startswith(("<bos", "<len")):
            words.pop(0)
        while words and words[-1].startswith("<ans"):
            words.pop()
        operators = sum(word in self.config.operators for word in words)
        if operators > self.knob.maximum:  # checked before parsing, which recurses into the expression
            self.knob.check(operators)
        trees = _parse(words, self.config, self._table)
        self.knob.check(operators)
        return self._write(trees, trees.sizes[0], None)

    def instance(self, rows: Rows, i: int) -> Instance:
        """Show the expression in infix form."""
        ids, (answer,) = rows.ids(i), rows.answer_positions(i)
        expression = self._expression(ids)
        infix = _infix(iter(expression))
        value = self.vocab.tokens[ids[answer]]
        return Instance(
            question=self.vocab.decode(ids[1:answer]),
            answer=value,
            picture=f"{infix[1:-1]} = {value} (mod {self.config.modulus})",
            meta={"height": _height(iter(expression))},
        )

    def probes(self, rows: Rows, i: int) -> dict[str, Floats]:
        """Run a stack parser over the question and note its state before every token."""
        ids = rows.ids(i)
        start = 1 + self.config.length_tokens
        states = list(_parser_states(self._expression(ids)))
        names = [probe.name for probe in self.probe_specs]
        values = np.full((len(names), len(ids)), np.nan)
        values[:, start : start + len(states)] = [[state[name] for state in states] for name in names]
        return dict(zip(names, values, strict=True))

    def _expression(self, ids: list[int]) -> list[str]:
        return [self.vocab.tokens[token].rstrip("'") for token in ids[1 + self.config.length_tokens : -3]]

    def _write(self, trees: Trees, sizes: Ints, twins: np.random.Generator | None) -> Rows:
        config, vocab = self.config, self.vocab
        count, head = len(sizes), 1 + config.length_tokens
        first = np.array([vocab.id("0"), vocab.id(config.operators[0])], dtype=np.int32)
        symbol_ids = first.take(trees.sizes > 0) + trees.symbols
        ends = head + 2 * sizes + 1  # position of the answer marker
        ids: Ints = np.zeros((count, int(ends.max()) + 3), dtype=np.int32)
        ids[:, 0] = vocab.id(BOS)
        ids[:, head : head + len(symbol_ids)] = symbol_ids.T
        ids *= np.arange(ids.shape[1]) < ends[:, None]
        shift = sizes - config.min_size if config.length_tokens else 0
        if config.length_tokens:
            ids[:, 1] = vocab.id(_length_token(config.min_size)) + shift
        marker = np.arange(count) * ids.shape[1] + ends  # in the flat array
        ids.reshape(-1)[marker] = vocab.id(_answer_token(config, config.min_size)) + shift
        if twins is not None:
            ids = _swap_twins(twins, ids, vocab)
        answers = vocab.id("0") + trees.values[0]
        ids.reshape(-1)[marker + 1] = answers
        ids.reshape(-1)[marker + 2] = vocab.id(EOS)
        labels = np.full_like(ids, IGNORE)
        labels.reshape(-1)[marker + 1] = answers
        return Rows(ids, labels, ends + 3, sizes)


def _length_token(size: int) -> str:
    return f"<len-{size:02d}>"


def _answer_token(config: ManoConfig, size: int) -> str:
    return f"<ans-{size:02d}>" if config.length_tokens else ANSWER


def _tokens(config: ManoConfig) -> list[str]:
    """Return the vocabulary; tokens that have a twin `x'` come right before all the twins, in the same order."""
    markers = [ANSWER]
    if config.length_tokens:
        sizes = range(config.min_size, config.max_size + 1)
        markers = [*map(_length_token, sizes), *(_answer_token(config, size) for size in sizes)]
    paired = [BOS, *markers, *config.operators]
    twins = [f"{token}'" for token in paired] if config.synonyms else []
    return [PAD, EOS, *paired, *twins, *map(str, range(config.modulus))]


def _swap_twins(rng: np.random.Generator, ids: Ints, vocab: Vocab) -> Ints:
    """Replace each token that has a twin by it with probability 1/2, independently at every occurrence."""
    first, twin = vocab.id(BOS), vocab.id(BOS + "'")
    paired = (ids >= first) & (ids < twin)
    return ids + (twin - first) * (paired & (rng.random(ids.shape) < 0.5)).astype(ids.dtype)


def _operation_table(config: ManoConfig) -> Ints:
    """Return table[(operator * modulus + left) * modulus + right], the value of every single operation."""
    left, right = np.meshgrid(np.arange(config.modulus), np.arange(config.modulus), indexing="ij")
    results = {"+": left + right, "-": left - right, "*": left * right}
    return np.stack([results[operator] for operator in config.operators]).ravel().astype(np.int32) % config.modulus


def _grow(rng: np.random.Generator, sizes: Ints, *, modulus: int, table: Ints) -> Trees:
    """Draw expressions with the given numbers of operators.

    In prefix order the left child of position p stands at p + 1 and, if it holds k operators, the right child at
    p + 2 + 2k. So one pass from left to right fixes every subtree's size: an operator over l operators gives its left
    child k of them, uniform on 0 .. l - 1, and its right child the other l - 1 - k.
    """
    length, count = 2 * int(sizes.max()) + 1, len(sizes)
    each, beyond = np.arange(count, dtype=np.int32), length  # operands point to a spare position beyond the end
    split = rng.random((length, count), dtype=np.float32)
    size = np.zeros((length + 1, count), dtype=np.int32)
    size[0] = sizes
    right = np.full((length, count), beyond, dtype=np.int32)
    flat = size.reshape(-1)
    for p in range(length - 2):  # after an operator come two tokens at least
        here = size[p]
        left = (split[p] * here).astype(np.int32)
        right[p] = np.where(here > 0, 2 * left + (p + 2), beyond)
        flat[right[p] * count + each] = here - 1 - left
        size[p + 1] += left
    size = size[:length]
    kinds = np.where(size > 0, np.float32(len(table) // modulus**2), np.float32(modulus))
    symbols = (rng.random((length, count), dtype=np.float32) * kinds).astype(np.int32)
    return Trees(size, right, symbols, _evaluate(size, right, symbols, modulus=modulus, table=table))


def _evaluate(size: Ints, right: Ints, symbols: Ints, *, modulus: int, table: Ints) -> Ints:
    """Return the value of every subtree, from right to left, so that children come before their parents."""
    length, count = size.shape
    values = np.concatenate([symbols, np.zeros_like(symbols[:1])])
    flat, each = values.reshape(-1), np.arange(count, dtype=np.int32)
    for p in range(length - 3, -1, -1):
        rhs = flat.take(right[p] * count + each)
        result = table.take((symbols[p] * modulus + values[p + 1]) * modulus + rhs, mode="clip")
        values[p] = np.where(size[p] > 0, result, values[p])
    return values[:length]


def _parse(words: list[str], config: ManoConfig, table: Ints) -> Trees:
    """Return an expression typed by hand as a batch of one tree; say where it is not an expression."""
    size = np.zeros((len(words), 1), dtype=np.int32)
    right, symbols = np.full_like(size, len(words)), np.zeros_like(size)

    def subtree(p: int) -> int:
        """Fill in the subtree that starts at p and return the position after it."""
        if p >= len(words):
            raise UserError(f"the expression {' '.join(words)!r} ends too early: an operand is missing")
        if words[p] not in config.operators:
            if not words[p].isdigit():
                raise UserError(f"{words[p]!r} cannot stand inside an expression")
            symbols[p] = int(words[p])
            return p + 1
        symbols[p] = config.operators.index(words[p])
        right[p] = subtree(p + 1)
        end = subtree(int(right[p, 0]))
        size[p] = (end - p - 1) // 2
        return end

    end = subtree(0)
    if end < len(words):
        raise UserError(f"the expression {' '.join(words)!r} is complete before {words[end]!r}")
    return Trees(size, right, symbols, _evaluate(size, right, symbols, modulus=config.modulus, table=table))


def _infix(words: Iterator[str]) -> str:
    word = next(words)
    return f"({_infix(words)} {word} {_infix(words)})" if word in OPERATORS else word


def _height(words: Iterator[str]) -> int:
    return 1 + max(_height(words), _height(words)) if next(words) in OPERATORS else 0


def _parser_states(words: list[str]) -> Iterator[dict[str, int]]:
    """Yield the parser's state before each token of a prefix expression.

    The stack holds, for every open operator, the operands it still needs and the operators seen in its subtree.
    """
    stack: list[list[int]] = []
    closed: list[int] = []
    for word in words:
        yield {
            "stack_depth": len(stack),
            "remaining_operands": stack[-1][0] if stack else 0,
            "completed_size": max(closed, default=0),
            "completed_sum": sum(closed),
            "is_operator": int(word in OPERATORS),
        }
        closed = []
        if word in OPERATORS:
            stack.append([2, 1])
            continue
        grown = 0
        while stack:
            stack[-1][0] -= 1
            stack[-1][1] += grown
            if stack[-1][0]:
                break
            grown = stack.pop()[1]
            closed.append(grown)
