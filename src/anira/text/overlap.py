"""Documents that contain a piece of an evaluation set: found by runs of words, whatever case and punctuation.

    "There are 15 trees in the grove."  ->  there are 15 trees in the grove

Every word gets a hash from the bytes it is made of, and every run of n words one from its words; both fall out of
running sums over the whole document, so a document costs a few passes of numpy and no Python per word.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from anira.config import UserError
from anira.text.config import TextConfig
from anira.text.shards import LeftOut
from anira.text.sources import open_shards

Hashes = NDArray[np.uint64]

_LETTER: Final = np.uint64(0x9E3779B97F4A7C15)  # odd, so that it has an inverse modulo 2^64
_WORD: Final = np.uint64(0xC2B2AE3D27D4EB4F)
_MIX: Final = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_SIEVE_BITS: Final = 24
_IN_WORD: Final = np.array([chr(byte).isalnum() or byte >= 128 for byte in range(256)])
"""Which bytes of UTF-8 words are made of: letters and digits, and everything that is not ASCII."""


class OverlapFilter:
    """Says which documents share a run of `words` words with a text of an evaluation set.

    >>> seen = OverlapFilter(["How many trees are left?"], words=3)
    >>> seen.overlaps("He asked: how many TREES?"), seen.overlaps("Many trees, how many?")
    (True, False)
    """

    def __init__(self, texts: Iterable[str], *, words: int) -> None:
        self.words = words
        hashes = [run_hashes(text, words) for text in texts]
        self.too_short = sum(len(one) == 0 for one in hashes)
        """Evaluation texts with fewer words, which no document can share."""
        self._known = np.unique(np.concatenate([np.zeros(0, np.uint64), *hashes]))
        """The hashes of all runs, in order."""
        # Nearly all runs are in no evaluation set: a table that fits the cache refuses all but a few of them.
        self._sieve = np.zeros(1 << _SIEVE_BITS, dtype=bool)
        self._sieve[_slot(self._known)] = True

    def __len__(self) -> int:
        return len(self._known)

    def overlaps(self, text: str) -> bool:
        """Say whether a document has a run of words of the evaluation set."""
        hashes = run_hashes(text, self.words)
        hashes = hashes[self._sieve[_slot(hashes)]]
        places = np.searchsorted(self._known, hashes)
        return bool((self._known[np.minimum(places, len(self._known) - 1)] == hashes).any())


def run_hashes(text: str, words: int) -> Hashes:
    """Return a hash for each run of so many words in a text; none if it has fewer."""
    each = _word_hashes(text)
    if len(each) < words:
        return np.zeros(0, dtype=np.uint64)
    first = np.arange(len(each) - words + 1)
    return _scrambled(_sums(each, _WORD, first, first + words))


def _word_hashes(text: str) -> Hashes:
    letters = np.frombuffer(text.lower().encode(), dtype=np.uint8)
    inside = np.concatenate([[False], _IN_WORD[letters], [False]])
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    return _scrambled(_sums(letters + np.uint64(1), _LETTER, edges[::2], edges[1::2]))


def _sums(values: Hashes, base: np.uint64, starts: NDArray[Any], ends: NDArray[Any]) -> Hashes:
    """Return for each span the sum of value[start + k] * base^k, modulo 2^64: the same wherever it stands."""
    powers, inverse = _powers(base, len(values))
    running = np.zeros(len(values) + 1, dtype=np.uint64)
    np.cumsum(values * powers, dtype=np.uint64, out=running[1:])
    sums: Hashes = (running[ends] - running[starts]) * inverse[starts]
    return sums


_tables: dict[np.uint64, tuple[Hashes, Hashes]] = {}


def _powers(base: np.uint64, count: int) -> tuple[Hashes, Hashes]:
    """Return base^0, base^1, ... and their inverses; the tables only grow, up to the longest document."""
    if base not in _tables or len(_tables[base][0]) < count:
        inverse = np.uint64(pow(int(base), -1, 1 << 64))
        _tables[base] = (_power_table(base, max(count, 1 << 16)), _power_table(inverse, max(count, 1 << 16)))
    powers, inverses = _tables[base]
    return powers[:count], inverses[:count]


def _power_table(base: np.uint64, count: int) -> Hashes:
    factors = np.full(count, base)
    factors[0] = 1
    return np.cumprod(factors, dtype=np.uint64)


def _scrambled(x: Hashes) -> Hashes:
    """Make neighbouring numbers unrelated (the splitmix64 finaliser)."""
    x = (x ^ (x >> np.uint64(30))) * _MIX[0]
    x = (x ^ (x >> np.uint64(27))) * _MIX[1]
    return x ^ (x >> np.uint64(31))


def _slot(hashes: Hashes) -> NDArray[Any]:
    return hashes >> np.uint64(64 - _SIEVE_BITS)


def make_filter(config: TextConfig) -> OverlapFilter | None:
    """Return the filter that a run asks for, from the items of its evaluation set."""
    if not config.exclude:
        return None
    texts = []
    for column in config.exclude_columns:
        items = open_shards(replace(config, data=config.exclude, column=column, subset=""))
        texts += [row.cell for shard in items for row in shard.rows() if not isinstance(row.cell, LeftOut)]
    made = OverlapFilter(texts, words=config.exclude_words)
    if not len(made):
        raise UserError(f"{config.exclude} has no text of {config.exclude_words} words in {config.exclude_columns}")
    return made
