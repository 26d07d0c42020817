"""Exact sampling from a finite language, many strings at once.

Symbols with few derivations are replaced by one of all their yields in one draw; for cfg3b these are the lower three
levels (512 yields of 13, 8192 of 14 and of 15). So a string takes three rounds of drawn rules and one of drawn yields,
and every round is a few array operations for all strings together.
"""

from itertools import chain, product
from math import prod
from typing import Final, NamedTuple

import numpy as np

from anira.tasks.base import Ints
from anira.tasks.lano.grammar import Grammar, Symbol

_MOST_YIELDS: Final = 8192  # of a symbol that is replaced in one draw

Options = list[tuple[tuple[int, ...], float]]  # what a symbol can be replaced by, with probabilities


class Strings(NamedTuple):
    """Some strings, one after the other."""

    tokens: Ints
    """Terminals of all strings."""
    lengths: Ints


class Sampler:
    """Draws independent strings of a grammar that is not recursive.

    >>> from anira.tasks.lano.grammar import CFG3B
    >>> drawn = Sampler(CFG3B.restricted(7)).draw(np.random.default_rng(0), 3)
    >>> drawn.tokens.tolist(), drawn.lengths.tolist()
    ([1, 2, 3, 3, 1, 3, 1], [3, 2, 2])
    """

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self._terminals = np.array(grammar.terminals)
        symbols = [*grammar.terminals, *grammar.nonterminals]
        number = {symbol: i for i, symbol in enumerate(symbols)}
        options = _options(grammar, number)
        self._start = number[grammar.start]
        self._rounds = _rounds(options, self._start)
        flat = [option for choices in options for option in choices]
        self._pool = np.fromiter(chain.from_iterable(body for body, _ in flat), dtype=np.int16)
        self._sizes = np.array([len(body) for body, _ in flat])
        self._places = np.cumsum(self._sizes) - self._sizes
        counts = np.array([len(choices) for choices in options])
        self._first = np.cumsum(counts) - counts
        # Where one option's share of the unit interval ends and the next one's begins.
        self._borders = {
            i: np.cumsum([probability for _, probability in choices])[:-1]
            for i, choices in enumerate(options)
            if len(choices) > 1
        }

    def draw(self, rng: np.random.Generator, count: int) -> Strings:
        """Return `count` independent strings."""
        symbols, lengths = np.full(count, self._start), np.ones(count, dtype=np.int64)
        for _ in range(self._rounds):
            chosen = self._choose(rng, symbols)
            sizes = self._sizes[chosen]
            ends = np.cumsum(sizes)
            # Entry k of an option's body stands k places after its beginning, in the pool and in what is written.
            place = np.repeat(self._places[chosen] - ends + sizes, sizes) + np.arange(ends[-1])
            lengths = np.add.reduceat(sizes, np.cumsum(lengths) - lengths)
            symbols = self._pool[place]
        return Strings(self._terminals[symbols], lengths)

    def _choose(self, rng: np.random.Generator, symbols: Ints) -> Ints:
        """Draw one option for every symbol; options are numbered through all symbols."""
        chosen: Ints = self._first[symbols]
        for symbol, borders in self._borders.items():
            where = np.flatnonzero(symbols == symbol)
            chosen[where] += np.searchsorted(borders, rng.random(len(where)), side="right")
        return chosen


def _options(grammar: Grammar, number: dict[Symbol, int]) -> list[Options]:
    """Return the options of every symbol by its number: itself, all its yields, or its rules."""
    options: dict[Symbol, Options] = {}
    derivations: dict[Symbol, int] = {}
    for symbol in grammar.heights:  # children first
        rules = grammar.bodies.get(symbol, [])
        derivations[symbol] = sum(prod(derivations[child] for child in rule.body) for rule in rules) or 1
        if not rules:
            options[symbol] = [((number[symbol],), 1.0)]
        elif derivations[symbol] > _MOST_YIELDS:
            options[symbol] = [(tuple(number[child] for child in rule.body), rule.probability) for rule in rules]
        else:
            options[symbol] = [
                (tuple(chain.from_iterable(body for body, _ in parts)), rule.probability * prod(p for _, p in parts))
                for rule in rules
                for parts in product(*(options[child] for child in rule.body))
            ]
    return [options[symbol] for symbol in number]


def _rounds(options: list[Options], start: int) -> int:
    """Return how often everything must be replaced until only terminals are left."""
    rounds, symbols = 0, {start}
    while any(options[symbol] != [((symbol,), 1.0)] for symbol in symbols):
        symbols = {child for symbol in symbols for body, _ in options[symbol] for child in body}
        rounds += 1
    return rounds
