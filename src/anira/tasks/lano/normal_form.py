"""Chomsky normal form: every rule is a pair of symbols or one terminal. Parsers work on this form.

A -> B C D (p) becomes A -> B H (p), H -> C D (1) with an H of its own: right binarisation, nothing shared. A terminal
in a body of several symbols gets a symbol that stands for it. Other forms of the same grammar give other counts of
work, so this one is part of the features' definition.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anira.tasks.base import Floats
from anira.tasks.lano.grammar import Grammar, Rule, Symbol


class Binary(NamedTuple):
    """head -> left right; symbols are numbers."""

    head: int
    left: int
    right: int
    probability: float


class Lexical(NamedTuple):
    """head -> terminal."""

    head: int
    terminal: Symbol
    probability: float


@dataclass(frozen=True)
class NormalForm:
    """A grammar in Chomsky normal form; its symbols are 0 .. len(names) - 1, those of the grammar itself first."""

    names: tuple[str, ...]
    start: int
    binary: tuple[Binary, ...]
    lexical: tuple[Lexical, ...]

    @cached_property
    def corners(self) -> NDArray[np.bool_]:
        """corners[X, Y]: a derivation from X can begin with Y, or X is Y."""
        reach: NDArray[np.bool_] = np.eye(len(self.names), dtype=bool)
        for rule in self.binary:
            reach[rule.head, rule.left] = True
        for middle in range(len(self.names)):
            reach |= np.outer(reach[:, middle], reach[middle])
        return reach

    @cached_property
    def expected_corners(self) -> Floats:
        """How often Y is expected on the left edge of a derivation from X: the sum of all powers of P, as [X, Y]."""
        one = np.zeros(self.corners.shape)
        for rule in self.binary:
            one[rule.head, rule.left] += rule.probability
        # An inverse leaves dust where there is nothing; a count of nonzero entries would count it.
        return np.where(self.corners, np.linalg.inv(np.eye(len(one)) - one), 0.0)


@lru_cache(maxsize=64)
def normal_form(grammar: Grammar) -> NormalForm:
    """Return the normal form of a grammar.

    >>> from anira.tasks.lano.grammar import CFG3B
    >>> form = normal_form(CFG3B)
    >>> len(form.names), len(form.binary), len(form.lexical)
    (40, 53, 3)
    """
    names = [str(symbol) for symbol in grammar.nonterminals]
    index = {symbol: i for i, symbol in enumerate(grammar.nonterminals)}
    binary: list[Binary] = []
    lexical: list[Lexical] = []

    def fresh(name: str) -> int:
        names.append(name)
        return len(names) - 1

    def part(symbol: Symbol) -> int:
        if symbol not in index:
            index[symbol] = fresh(f"@{symbol}")
            lexical.append(Lexical(index[symbol], symbol, 1.0))
        return index[symbol]

    def convert(rule: Rule) -> None:
        head, probability = index[rule.head], rule.probability
        if len(rule.body) == 1:
            lexical.append(Lexical(head, rule.body[0], probability))
            return
        for position, left in enumerate(rule.body[:-2], 1):
            rest = fresh(f"{rule.head}:{' '.join(map(str, rule.body[position:]))}")
            binary.append(Binary(head, part(left), rest, probability))
            head, probability = rest, 1.0
        binary.append(Binary(head, part(rule.body[-2]), part(rule.body[-1]), probability))

    for rule in grammar.rules:
        convert(rule)
    return NormalForm(tuple(names), index[grammar.start], tuple(binary), tuple(lexical))
