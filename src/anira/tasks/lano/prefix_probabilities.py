"""How likely a string's beginnings are, what can come next, and where it stops being one of the language's strings.

A sparse inside pass, and on top of it a forward vector: forward[N][X] is how often X is expected to begin after N
tokens, given these tokens. All values are divided by the probability of the tokens they have read, so no length of the
string makes them vanish. Symbols that nothing before them can lead to are left out.
"""

from array import array
from collections.abc import Sequence
from functools import lru_cache
from math import inf, log
from typing import Final, NamedTuple

import numpy as np

from anira.config import UserError
from anira.tasks.base import Floats
from anira.tasks.lano.grammar import Grammar, Symbol
from anira.tasks.lano.normal_form import normal_form

_DECIMALS: Final = 9  # what rounding errors do not reach

Cell = dict[int, float]  # symbol -> inside probability, scaled


class PrefixProbabilities:
    """Reads a string from left to right. Logarithms and entropies are in nats.

    >>> grammar = Grammar.from_rules("S", {"S": [("Y", "Z")], "Y": [("Z", "Y"), ("a",)], "Z": [("a",)]})
    >>> chart = PrefixProbabilities(grammar)
    >>> [round(chart.append("a"), 3) for _ in range(3)]
    [1.0, 1.0, 0.5]
    >>> chart.distribution.round(3).tolist()  # another a, or the end
    [0.5, 0.5]
    """

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self._tables = _tables(grammar)
        self._columns: list[dict[int, Cell]] = [{}]  # what ends after j tokens, by where it starts
        self._forward: list[array[float]] = []
        self.is_possible = True
        self.log_prob = 0.0
        """Logarithm of the probability that a string begins with these tokens."""
        self.distribution: Floats
        """Probabilities of the next token, in the order of `grammar.terminals`, and, last, of the end of the string;
        NaN after an impossible token."""
        self._look_ahead(self._tables.corners[self._tables.start])

    def __len__(self) -> int:
        """Return the number of tokens read, an impossible one and those after it not counted."""
        return len(self._columns) - 1

    @property
    def is_sentence(self) -> bool:
        """Whether the tokens so far are a string of the language."""
        return bool(self.distribution[-1] > 0)

    @property
    def entropy(self) -> float:
        """Entropy of what comes next, the end of the string included; NaN after an impossible token."""
        chances = self.distribution[self.distribution != 0]
        # Rounded, because ranks are taken of it: equal entropies must be equal numbers.
        return abs(round(-float(chances @ np.log(chances)), _DECIMALS))

    def append(self, token: Symbol) -> float:
        """Read one more token; return its probability given those before it, 0 from the first impossible one on."""
        number = self._tables.number(token)
        chance = float(self.distribution[number]) if self.is_possible else 0.0
        if chance <= 0:
            self.is_possible, self.log_prob = False, -inf
            self.distribution = np.full(len(self.distribution), np.nan)
            return 0.0
        self.log_prob += log(chance)
        self._columns.append(self._inside(self._tables.lexical[number], chance))
        self._look_ahead(self._awaited() @ self._tables.corners)
        return chance

    def cell(self, start: int, end: int) -> Cell:
        """Return the symbols that derive tokens start .. end - 1, with inside probabilities up to a common factor."""
        return self._columns[end].get(start, {})

    def _inside(self, words: list[tuple[int, float]], chance: float) -> dict[int, Cell]:
        """Return what ends with the new token."""
        start, forward, by_left = len(self._columns) - 1, self._forward, self._tables.by_left
        column: dict[int, Cell] = {}
        growing = {start: {head: weight / chance for head, weight in words if forward[start][head] > 0}}
        while growing:
            # Descending: all that starts later is complete by now.
            start = max(growing)
            column[start] = rights = growing.pop(start)
            for i, lefts in self._columns[start].items():
                for left, inside in lefts.items():
                    for head, right, weight in by_left[left]:
                        if right in rights and forward[i][head] > 0:
                            cell = growing.setdefault(i, {})
                            cell[head] = cell.get(head, 0.0) + weight * inside * rights[right]
        return column

    def _awaited(self) -> Floats:
        """Return how often each symbol is expected to begin now as a right sibling of what has just ended."""
        awaited = [0.0] * len(self._tables.by_left)
        for start, cell in self._columns[-1].items():
            forward = self._forward[start]
            for left, inside in cell.items():
                for head, right, weight in self._tables.by_left[left]:
                    awaited[right] += forward[head] * weight * inside
        return np.array(awaited)

    def _look_ahead(self, forward: Floats) -> None:
        self._forward.append(array("d", forward.tobytes()))  # a fifth of the memory of a list
        ended = self.cell(0, len(self)).get(self._tables.start, 0.0)
        self.distribution = np.append(forward @ self._tables.emissions, ended)


class StringProbabilities(NamedTuple):
    """What there is to know about a string of n tokens."""

    log_prefix: Floats
    """(n,) logarithm of the probability of each prefix, -inf from the first impossible token on."""
    entropy: Floats
    """(n,) entropy of the next token before each token, NaN after the first impossible one."""
    log_prob: float
    """Of the string as a whole, -inf if it is not in the language."""
    is_sentence: bool
    num_possible: int
    """Tokens before the first impossible one: n if there is none."""


def string_probabilities(grammar: Grammar, tokens: Sequence[Symbol]) -> StringProbabilities:
    """Read a string.

    >>> from anira.tasks.lano.grammar import CFG3B
    >>> found = string_probabilities(CFG3B.restricted(10), [3, 1, 2, 1, 3, 2])
    >>> found.is_sentence, round(found.log_prob / log(2), 6)
    (True, -4.0)
    """
    if not tokens:
        raise UserError("an empty string has no tokens to parse: give at least one")
    chart = PrefixProbabilities(grammar)
    log_prefix, entropy = np.empty(len(tokens)), np.empty(len(tokens))
    for position, token in enumerate(tokens):
        entropy[position] = chart.entropy
        chart.append(token)
        log_prefix[position] = chart.log_prob
    log_prob = chart.log_prob + log(chart.distribution[-1]) if chart.is_sentence else -inf
    return StringProbabilities(log_prefix, entropy, log_prob, chart.is_sentence, len(chart))


class _Tables:
    """A grammar as the passes read it."""

    def __init__(self, grammar: Grammar) -> None:
        form = normal_form(grammar)
        self.start, self.corners = form.start, form.expected_corners
        self._terminals = {terminal: number for number, terminal in enumerate(grammar.terminals)}
        self.by_left: list[list[tuple[int, int, float]]] = [[] for _ in form.names]  # left -> (head, right, weight)
        for head, left, right, weight in form.binary:
            self.by_left[left].append((head, right, weight))
        self.lexical: list[list[tuple[int, float]]] = [[] for _ in grammar.terminals]
        self.emissions = np.zeros((len(form.names), len(grammar.terminals)))
        for head, terminal, weight in form.lexical:
            number = self._terminals[terminal]
            self.lexical[number].append((head, weight))
            self.emissions[head, number] = weight

    def number(self, token: Symbol) -> int:
        try:
            return self._terminals[token]
        except KeyError:
            known = ", ".join(map(str, self._terminals))
            raise UserError(f"unknown terminal {token!r}: the grammar has {known}") from None


@lru_cache(maxsize=64)
def _tables(grammar: Grammar) -> _Tables:
    return _Tables(grammar)
