"""An incremental prefix parser that counts its own work, token by token (Nowak and Cotterell's algorithm).

The counts need only to know which entries of the parser's tables are zero, so it works in the boolean semiring: a set
of rules is an integer with a bit for each rule, and only entries that are there are stored. The tables, for tokens
w_0 .. w_(N-1) and with E[X, Y] = how often Y is expected on the left edge of X:

    beta[i, X, k]       X derives tokens i .. k-1
    gamma[i, j, X, Z]   X begins with a symbol that derives tokens i .. j-1, then awaits Z
    delta[i, j, X, Z]   the same, X reached through left corners: sum over Y of E[X, Y] gamma[i, j, Y, Z]
    pi[i, X, k]         X derives a string that begins with tokens i .. k-1

A new token adds the column k = N of beta, the slice j = N - 1 of gamma and delta, and a column of pi. One operation is
counted for every pair of operands that are not zero, in the order and with the exceptions of docs/tasks.md.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from anira.config import UserError
from anira.tasks.lano.grammar import Grammar, Symbol
from anira.tasks.lano.normal_form import normal_form


class TokenFeatures(NamedTuple):
    """What the parser did for one token."""

    ops_add: int
    ops_mul: int
    active_gamma_slice: int
    """Nonzero gamma[i, N-1, X, Z]: depends on the tokens before this one only."""
    active_beta_end: int
    """Nonzero beta[i, X, N]: constituents that end with this token."""


class PrefixParser:
    """Reads a string from left to right.

    >>> from anira.tasks.lano.grammar import CFG3B
    >>> parser = PrefixParser(CFG3B)
    >>> [parser.append(token).ops_add for token in (3, 1, 2, 1)]
    [41, 362, 422, 468]
    """

    def __init__(self, grammar: Grammar) -> None:
        self._rules = _rule_sets(grammar)
        # What ends after j tokens, as (i, rules whose left child derives tokens i .. j-1).
        self._ended: list[list[tuple[int, int]]] = [[]]
        self._num_ended = [0]  # nonzero beta[., ., j]
        self._slice = _Slice(0, 0, 0)

    def append(self, token: Symbol) -> TokenFeatures:
        """Read one more token and count the work."""
        rules, ended, num_ended = self._rules, self._ended, self._num_ended
        num_words, (count, lefts, wanted, _) = rules.word(token)
        work = num_words * rules.num_symbols + self._slice.work
        begun: dict[int, int] = {}  # start -> rules whose right child begins or ends with this token
        column: list[tuple[int, int]] = []
        start, active = len(ended) - 1, 0
        while True:
            if count:
                active += count
                work += count * num_ended[start]
                if lefts:
                    column.append((start, lefts))
            for i, awaiting in ended[start]:
                if here := awaiting & wanted:
                    work += rules.pairs(here)
                    begun[i] = begun.get(i, 0) | here
            if not begun:
                break
            # Descending: all that begins at a later position is known by now.
            start = max(begun)
            count, lefts, wanted, fired = rules.heads(begun.pop(start))
            work += fired
        features = TokenFeatures(work + num_words + self._slice.pairs, work, self._slice.gamma, active)
        ended.append(column)
        num_ended.append(active)
        self._slice = rules.slice([awaiting for _, awaiting in column])
        return features


def token_features(grammar: Grammar, tokens: Sequence[Symbol]) -> list[TokenFeatures]:
    """Return the features of every token of a string, grammatical or not."""
    if not tokens:
        raise UserError("an empty string has no tokens to parse: give at least one")
    parser = PrefixParser(grammar)
    return [parser.append(token) for token in tokens]


class _Heads(NamedTuple):
    """The symbols at one start: some derive exactly the tokens from there on, more derive what begins with them."""

    num_exact: int  # symbols that derive exactly the tokens
    lefts: int  # rules whose left child is one of those
    wanted: int  # rules whose right child is one of either
    fired: int  # rules that made them, counted where they derive exactly the tokens


class _Slice(NamedTuple):
    """A slice of gamma and of delta, for all starts i."""

    work: int  # operations that fill it
    gamma: int  # its nonzero entries of gamma
    pairs: int  # and of delta


class _RuleSets:
    """Sets of rules as bits of integers. The maps between them meet few arguments; each is computed once.

    A set has a low half for what begins with the tokens and a high half for what derives exactly those, so that one
    operation does both. Sets of rules that await their right child have equal halves.
    """

    def __init__(self, grammar: Grammar) -> None:
        form = normal_form(grammar)
        self.num_symbols, self._half = len(form.names), len(form.binary)
        self._binary, self._lexical = form.binary, form.lexical
        symbols = range(self.num_symbols)
        # The symbols that can begin with a given one, itself included.
        self._above = [sum(1 << x for x in symbols if form.corners[x, y]) for y in symbols]
        self._with_left = [sum(1 << r for r, rule in enumerate(form.binary) if rule.left == y) for y in symbols]
        self._with_right = [sum(1 << r for r, rule in enumerate(form.binary) if rule.right == z) for z in symbols]
        self.word, self.heads = cache(self._word), cache(self._heads)
        self.pairs, self._gamma = cache(self._delta_entries), cache(self._gamma_entries)

    def slice(self, cells: list[int]) -> _Slice:
        """Return what gamma and delta hold for the rules that have read their left child, one set a start."""
        num_rules = gamma = pairs = 0
        for awaiting in cells:
            num_rules += awaiting.bit_count() // 2
            gamma += self._gamma(awaiting)
            pairs += self.pairs(awaiting)
        # delta multiplies every entry of gamma with a whole column of E, zeros included.
        return _Slice(num_rules + self.num_symbols * gamma, gamma, pairs)

    def _word(self, token: Symbol) -> tuple[int, _Heads]:
        """Return how many rules write a token, and what their heads are good for."""
        heads = [rule.head for rule in self._lexical if rule.terminal == token]
        if not heads:
            known = ", ".join(sorted({str(rule.terminal) for rule in self._lexical}))
            raise UserError(f"unknown terminal {token!r}: the grammar has {known}")
        return len(heads), self._describe(heads, heads, fired=0)

    def _heads(self, rules: int) -> _Heads:
        begun = [self._binary[r].head for r in self._low(rules)]
        exact = [self._binary[r].head for r in _bits(rules >> self._half)]
        return self._describe(begun, exact, fired=len(exact))

    def _describe(self, begun: list[int], exact: list[int], *, fired: int) -> _Heads:
        above = _union(self._above[symbol] for symbol in begun)
        lefts = _union(self._with_left[symbol] for symbol in exact)
        begun_rights = _union(self._with_right[symbol] for symbol in _bits(above))
        exact_rights = _union(self._with_right[symbol] for symbol in exact)
        wanted = begun_rights | exact_rights << self._half
        return _Heads(len(set(exact)), lefts | lefts << self._half, wanted, fired)

    def _delta_entries(self, rules: int) -> int:
        """Return the number of pairs (X, Z) such that X can begin with the head of a rule that awaits Z."""
        above: dict[int, int] = {}
        for r in self._low(rules):
            right = self._binary[r].right
            above[right] = above.get(right, 0) | self._above[self._binary[r].head]
        return sum(symbols.bit_count() for symbols in above.values())

    def _gamma_entries(self, rules: int) -> int:
        return len({(self._binary[r].head, self._binary[r].right) for r in self._low(rules)})

    def _low(self, rules: int) -> Iterator[int]:
        return _bits(rules & ((1 << self._half) - 1))


@lru_cache(maxsize=64)
def _rule_sets(grammar: Grammar) -> _RuleSets:
    return _RuleSets(grammar)


def _bits(mask: int) -> Iterator[int]:
    """Yield the numbers of the bits that are set.

    >>> list(_bits(0b10110))
    [1, 2, 4]
    """
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _union(masks: Iterable[int]) -> int:
    out = 0
    for mask in masks:
        out |= mask
    return out
