"""What the tests of LANO share: the parser's recurrences written out in full, grammars at random, whole languages."""

from collections import Counter
from collections.abc import Sequence
from itertools import product

import numpy as np
from hypothesis import reject
from hypothesis import strategies as st

from anira.config import UserError
from anira.tasks.lano import Grammar, TokenFeatures, normal_form


class DenseParser:
    """The recurrences in dense float64 arrays, every operation counted where it is done."""

    def __init__(self, grammar: Grammar) -> None:
        self.form = normal_form(grammar)
        self.size = len(self.form.names)
        self.expected = expected_corners(self.form)
        self.beta: dict[tuple[int, int], np.ndarray] = {}
        self.delta: dict[tuple[int, int], np.ndarray] = {}
        self.length = 0
        self.prefix = 1.0  # probability of the tokens as a beginning
        self.string = 0.0  # and as a whole
        self.lexical = self.slice = 0  # matching lexical rules; nonzero entries of the new slice of delta
        self.add = self.mul = 0

    def append(self, token: int | str) -> TokenFeatures:
        self.length += 1
        self.add = self.mul = 0
        self._words(token)
        for i in range(self.length - 2, -1, -1):
            self.beta[i, self.length] = self._inside(i)
        gamma = [self._extend(i) for i in range(self.length - 1)]
        column = self._prefix(token)
        start = self.form.start
        self.prefix, self.string = column[0][start], self.beta[0, self.length][start]
        ended = sum(np.count_nonzero(self.beta[i, self.length]) for i in range(self.length))
        return TokenFeatures(self.add, self.mul, sum(gamma), ended)

    def _count(self, number: int = 1) -> None:
        self.add += number
        self.mul += number

    def _words(self, token: int | str) -> None:
        inside = np.zeros(self.size)
        self.lexical = 0
        for head, terminal, weight in self.form.lexical:
            if terminal == token:
                inside[head] += weight
                self.lexical += 1
        self.add += self.lexical
        self.beta[self.length - 1, self.length] = inside

    def _inside(self, i: int) -> np.ndarray:
        pairs = np.zeros((self.size, self.size))
        for j in range(i + 1, self.length):
            left, right = self.beta[i, j], self.beta[j, self.length]
            for y, z in product(np.flatnonzero(left), np.flatnonzero(right)):
                pairs[y, z] += left[y] * right[z]
                self._count()
        inside = np.zeros(self.size)
        for head, left, right, weight in self.form.binary:
            if pairs[left, right] != 0:
                inside[head] += weight * pairs[left, right]
                self._count()
        return inside

    def _extend(self, i: int) -> int:
        """Fill delta[i, N-1]; return the number of nonzero entries of gamma[i, N-1]."""
        end = self.length - 1
        gamma, delta = np.zeros((self.size, self.size)), np.zeros((self.size, self.size))
        for head, left, right, weight in self.form.binary:
            if self.beta[i, end][left] != 0:
                gamma[head, right] += weight * self.beta[i, end][left]
                self._count()
        for y, z in np.argwhere(gamma):
            for x in range(self.size):
                delta[x, z] += self.expected[x, y] * gamma[y, z]
                self._count()
        self.slice = np.count_nonzero(delta) + (self.slice if i else 0)
        self.add += np.count_nonzero(delta)
        self.delta[i, end] = delta
        return np.count_nonzero(gamma)

    def _prefix(self, token: int | str) -> dict[int, np.ndarray]:
        column = {self.length - 1: np.zeros(self.size)}
        for head, terminal, weight in self.form.lexical:
            if terminal == token:
                column[self.length - 1] += self.expected[:, head] * weight
                self._count(self.size)
        for i in range(self.length - 2, -1, -1):
            column[i] = np.zeros(self.size)
            for j in range(i + 1, self.length):
                for x, z in np.argwhere(self.delta[i, j]):
                    if column[j][z] != 0:
                        column[i][x] += self.delta[i, j][x, z] * column[j][z]
                        self._count()
        return column


def expected_corners(form) -> np.ndarray:
    """Return the sum of all powers of P by solving E = I + P E, with zeros where no path of rules leads."""
    one = np.zeros((len(form.names), len(form.names)))
    for head, left, _, weight in form.binary:
        one[head, left] += weight
    paths = np.linalg.matrix_power((one > 0).astype(float) + np.eye(len(one)), len(one))
    return np.where(paths > 0, np.linalg.solve(np.eye(len(one)) - one, np.eye(len(one))), 0)


Rules = dict[str, dict[tuple[str, ...], float]]


def _normalised(rules: dict[str, dict[tuple[str, ...], int]], start: str) -> Grammar:
    """Return a grammar of what can be reached; leave the example if it is none."""
    reached, new = {start}, [start]
    while new:
        below = {symbol for body in rules.get(new.pop(), {}) for symbol in body} - reached
        reached |= below
        new += below
    weighted: Rules = {
        head: {body: weight / sum(bodies.values()) for body, weight in bodies.items()}
        for head, bodies in rules.items()
        if head in reached
    }
    try:
        return Grammar.from_rules(start, weighted)
    except UserError:
        reject()


@st.composite
def recursive_grammars(draw: st.DrawFn) -> Grammar:
    """Draw a small grammar in normal form; most are recursive and ambiguous."""
    heads = "ABCDE"[: draw(st.integers(2, 5))]
    bodies = st.one_of(
        st.tuples(st.sampled_from(heads), st.sampled_from(heads)), st.tuples(st.sampled_from("ab")), st.just(("a",))
    )
    choices = st.dictionaries(bodies, st.integers(1, 4), min_size=1, max_size=4)
    return _normalised({head: draw(choices) for head in heads}, "A")


@st.composite
def finite_grammars(draw: st.DrawFn) -> Grammar:
    """Draw a grammar of three levels with bodies of one to four symbols, terminals anywhere."""
    rules: dict[str, dict[tuple[str, ...], int]] = {}
    for head, below in (("A", "BCab"), ("B", "Cabc"), ("C", "abc")):
        bodies = st.lists(st.sampled_from(below), min_size=1, max_size=4 if head == "C" else 3).map(tuple)
        proper = bodies.filter(lambda body: len(body) > 1 or body[0].islower())
        rules[head] = draw(st.dictionaries(proper, st.integers(1, 3), min_size=1, max_size=3))
    return _normalised(rules, "A")


Language = dict[tuple[int | str, ...], float]


def language(grammar: Grammar, symbol: int | str | None = None) -> Language:
    """Return all strings of a small language with their probabilities, by writing out every derivation."""
    symbol = grammar.start if symbol is None else symbol
    if symbol in grammar.terminals:
        return {(symbol,): 1.0}
    strings: Counter = Counter()
    for rule in grammar.bodies[symbol]:
        for parts in product(*(language(grammar, child).items() for child in rule.body)):
            text = tuple(token for part, _ in parts for token in part)
            strings[text] += rule.probability * np.prod([probability for _, probability in parts])
    return dict(strings)


def prefixes(strings: Language) -> Language:
    """Return the probability of everything that a string of the language can begin with, the empty string too."""
    out: Counter = Counter()
    for string, probability in strings.items():
        for length in range(len(string) + 1):
            out[string[:length]] += probability
    return dict(out)


def digits(text: str) -> list[int]:
    """Return the tokens of a sentence that is written without spaces."""
    return [int(digit) for digit in text]


def column(rows: Sequence[TokenFeatures], name: str) -> list[int]:
    """Return one feature of all tokens."""
    return [getattr(features, name) for features in rows]
