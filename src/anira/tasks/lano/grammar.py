"""Probabilistic context-free grammars as data, checked when they are made; and cfg3b, the grammar of LANO."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from math import fsum
from typing import Final, NamedTuple

import numpy as np

from anira.config import UserError

Symbol = int | str
Body = tuple[Symbol, ...]

_ROUNDING: Final = 1e-9  # what probabilities may miss 1 by


class Rule(NamedTuple):
    """One way to rewrite a symbol."""

    head: Symbol
    body: Body
    probability: float

    def __str__(self) -> str:
        return f"{self.head} -> {' '.join(map(str, self.body)) or '(nothing)'}"


@dataclass(frozen=True)
class Grammar:
    """A start symbol and rules; a symbol that has no rules is a terminal.

    A list of bodies stands for equally likely ones, a mapping gives each its probability:

    >>> grammar = Grammar.from_rules("S", {"S": {("a", "S"): 0.25, ("b",): 0.75}})
    >>> grammar.terminals, grammar.nonterminals
    (('a', 'b'), ('S',))
    >>> Grammar.from_rules("S", {"S": {("a", "S"): 0.25, ("b",): 0.7}})
    Traceback (most recent call last):
    anira.config.errors.UserError: the rules of S have probabilities that add up to 0.95, not to 1
    """

    start: Symbol
    rules: tuple[Rule, ...]

    @staticmethod
    def from_rules(start: Symbol, rules: Mapping[Symbol, Sequence[Body] | Mapping[Body, float]]) -> "Grammar":
        """Build a grammar from the bodies of every symbol that has rules."""
        made: list[Rule] = []
        for head, bodies in rules.items():
            weighted = bodies.items() if isinstance(bodies, Mapping) else [(body, 1 / len(bodies)) for body in bodies]
            made += [Rule(head, tuple(body), probability) for body, probability in weighted]
        return Grammar(start, tuple(made))

    def __post_init__(self) -> None:
        _check_rules(self)
        _check_probabilities(self)
        _check_symbols(self)
        _check_left_corners(self)
        _check_endings(self)

    @cached_property
    def bodies(self) -> dict[Symbol, list[Rule]]:
        """The rules of every nonterminal."""
        out: dict[Symbol, list[Rule]] = {}
        for rule in self.rules:
            out.setdefault(rule.head, []).append(rule)
        return out

    @property
    def nonterminals(self) -> tuple[Symbol, ...]:
        """Symbols that have rules, in the order of their first one."""
        return tuple(self.bodies)

    @cached_property
    def terminals(self) -> tuple[Symbol, ...]:
        """Symbols that have no rules, numbers before words, ascending."""
        found = {symbol for rule in self.rules for symbol in rule.body} - self.bodies.keys()
        return tuple(sorted(found, key=lambda symbol: (isinstance(symbol, str), symbol)))

    @cached_property
    def heights(self) -> dict[Symbol, int]:
        """Levels of rules below each symbol, 0 for terminals; children come before their parents.

        >>> CFG3B.heights[22], CFG3B.heights[7]
        (6, 1)
        """
        below = {head: {symbol for rule in rules for symbol in rule.body} for head, rules in self.bodies.items()}
        out: dict[Symbol, int] = {}
        try:
            for symbol in TopologicalSorter(below).static_order():
                out[symbol] = 1 + max((out[child] for child in below.get(symbol, ())), default=-1)
        except CycleError as error:
            circle = " -> ".join(map(str, reversed(error.args[1])))
            raise UserError(f"the grammar is recursive ({circle}), and this needs a finite language") from None
        return out

    def reachable(self, start: Symbol) -> set[Symbol]:
        """Return all symbols that a derivation from `start` can contain."""
        found, new = {start}, [start]
        while new:
            below = {symbol for rule in self.bodies.get(new.pop(), ()) for symbol in rule.body} - found
            found |= below
            new += below
        return found

    def restricted(self, start: Symbol) -> "Grammar":
        """Return the grammar of what another symbol derives.

        >>> CFG3B.restricted(10).nonterminals
        (10, 7, 8, 9)
        """
        if start not in self.bodies:
            known = ", ".join(map(str, self.nonterminals))
            raise UserError(f"a start symbol must be one of {known}, not {start}")
        kept = self.reachable(start)
        return Grammar(start, tuple(rule for rule in self.rules if rule.head in kept))


def _check_rules(grammar: Grammar) -> None:
    if grammar.start not in grammar.bodies:
        raise UserError(f"the start symbol {grammar.start} has no rules: give it at least one")
    seen: set[tuple[Symbol, Body]] = set()
    for rule in grammar.rules:
        if not rule.body:
            raise UserError(f"rule {rule}: a rule needs at least one symbol on its right side")
        if len(rule.body) == 1 and rule.body[0] in grammar.bodies:
            raise UserError(f"rule {rule} only renames: write the rules of {rule.body[0]} in its place")
        if (rule.head, rule.body) in seen:
            raise UserError(f"rule {rule} is written twice: add up the two probabilities")
        seen.add((rule.head, rule.body))


def _check_probabilities(grammar: Grammar) -> None:
    for rule in grammar.rules:
        if not 0 < rule.probability <= 1 + _ROUNDING:
            raise UserError(f"rule {rule} has probability {rule.probability}: it must be above 0 and at most 1")
    for head, rules in grammar.bodies.items():
        total = fsum(rule.probability for rule in rules)
        if abs(total - 1) > _ROUNDING:
            raise UserError(f"the rules of {head} have probabilities that add up to {total:g}, not to 1")


def _check_symbols(grammar: Grammar) -> None:
    reachable = grammar.reachable(grammar.start)
    lost = [str(symbol) for symbol in grammar.bodies if symbol not in reachable]
    if lost:
        raise UserError(
            f"no derivation from the start symbol {grammar.start} contains {', '.join(lost)}: remove the rules"
        )


def _check_left_corners(grammar: Grammar) -> None:
    """Raise a UserError unless chains of first symbols end: their expected number is the sum of the powers of P."""
    index = {symbol: i for i, symbol in enumerate(grammar.nonterminals)}
    first = np.zeros((len(index), len(index)))
    for rule in grammar.rules:
        if rule.body[0] in index:
            first[index[rule.head], index[rule.body[0]]] += rule.probability
    radius = max(abs(np.linalg.eigvals(first)))
    if radius >= 1 - _ROUNDING:
        raise UserError(
            f"left recursion never ends: the matrix of left corners has spectral radius {radius:.6g}, which must be "
            "below 1; give some symbol that begins with itself a likelier rule that begins otherwise"
        )


def _check_endings(grammar: Grammar) -> None:
    ending: set[Symbol] = set(grammar.terminals)
    while new := {rule.head for rule in grammar.rules if ending.issuperset(rule.body)} - ending:
        ending |= new
    endless = [str(symbol) for symbol in grammar.nonterminals if symbol not in ending]
    if endless:
        raise UserError(f"no derivation from {', '.join(endless)} ever ends: add a rule that leads to terminals")


CFG3B: Final = Grammar.from_rules(
    22,
    {
        22: [(21, 20), (20, 19)],
        19: [(16, 17, 18), (17, 18, 16)],
        20: [(17, 16, 18), (16, 17)],
        21: [(18, 16), (16, 18, 17)],
        16: [(15, 13), (13, 15, 14)],
        17: [(14, 13, 15), (15, 13, 14)],
        18: [(15, 14, 13), (14, 13)],
        13: [(11, 12), (12, 11)],
        14: [(11, 10, 12), (10, 11, 12)],
        15: [(12, 11, 10), (11, 12, 10)],
        10: [(7, 9, 8), (9, 8, 7)],
        11: [(8, 7, 9), (7, 8, 9)],
        12: [(8, 9, 7), (9, 7, 8)],
        7: [(3, 1), (1, 2, 3)],
        8: [(3, 2), (3, 1, 2)],
        9: [(3, 2, 1), (2, 1)],
    },
)
"""The grammar of the paper: six levels of rules, two equally likely ones a symbol, three terminals."""
