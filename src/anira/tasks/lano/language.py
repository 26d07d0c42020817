"""Exact facts about a finite language: how long its strings are, and how well the next token can be predicted."""

from collections.abc import Callable
from math import fsum, log

import numpy as np

from anira.tasks.base import Floats
from anira.tasks.lano.grammar import Grammar, Rule, Symbol


def length_distribution(grammar: Grammar) -> Floats:
    """Return the probability of every length, from 0 to the longest string's.

    >>> length_distribution(Grammar.from_rules("S", {"S": {("a", "S2"): 0.25, ("a",): 0.75}, "S2": [("b", "b")]}))
    array([0.  , 0.75, 0.  , 0.25])
    """
    laws: dict[Symbol, Floats] = {}
    for symbol in grammar.heights:  # children first
        parts = [(rule.probability, _convolved(rule, laws)) for rule in grammar.bodies.get(symbol, ())]
        law = np.zeros(max((len(part) for _, part in parts), default=2))
        for probability, part in parts:
            law[: len(part)] += probability * part
        laws[symbol] = law if parts else np.array([0.0, 1.0])
    return laws[grammar.start]


def _convolved(rule: Rule, laws: dict[Symbol, Floats]) -> Floats:
    law = np.ones(1)
    for symbol in rule.body:
        law = np.convolve(law, laws[symbol])
    return law


def mean_length(grammar: Grammar) -> float:
    """Return the expected length of a string.

    >>> from anira.tasks.lano.grammar import CFG3B
    >>> mean_length(CFG3B)
    275.625
    """
    return _expected(grammar, leaf=1.0, own=lambda rule: 0.0)


def derivation_entropy(grammar: Grammar) -> float:
    """Return the entropy of a derivation in nats; of a string too, if no string has two derivations."""
    return _expected(grammar, leaf=0.0, own=lambda rule: -log(rule.probability))


def entropy_floor(grammar: Grammar) -> float:
    """Return the least cross-entropy in nats for each predicted token, the end of the string being one of them.

    Exact if no string has two derivations; above the true floor otherwise.

    >>> from anira.tasks.lano.grammar import CFG3B
    >>> round(entropy_floor(CFG3B), 4)
    0.4241
    """
    return derivation_entropy(grammar) / (mean_length(grammar) + 1)


def _expected(grammar: Grammar, *, leaf: float, own: Callable[[Rule], float]) -> float:
    """Return the expected sum over a derivation of `own` for each rule used and `leaf` for each terminal."""
    values: dict[Symbol, float] = {}
    for symbol in grammar.heights:  # children first
        rules = grammar.bodies.get(symbol)
        values[symbol] = (
            fsum(rule.probability * (own(rule) + fsum(values[child] for child in rule.body)) for rule in rules)
            if rules
            else leaf
        )
    return values[grammar.start]
