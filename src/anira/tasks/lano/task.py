"""The LANO task: configuration, rows, probes, grading.

A sentence that symbol 10 derives by 10 -> 7 9 8, 7 -> 3 1, 9 -> 2 1, 8 -> 3 2, and what the parser finds there:

    token               <bos>   3    1    2    1    3    2   <eos>
    label                 .     3    1    2    1    3    2   <eos>
    ops_add               .    13   80   67   86   76   91     .     additions for the token
    ops_mul               .    12   70   62   79   70   81     .     multiplications
    active_gamma_slice    .     0    4    3    4    4    4     .     what is awaited before the token
    active_beta_end       .     1    2    3    3    1    4     .     what ends with the token
    next_entropy          .   1.04  .69  .69   0    0   .69    .     of the token, given those before it
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, cast

import numpy as np

from anira.config import UserError
from anira.tasks.base import IGNORE, BlockTask, Floats, Grade, Instance, Ints, Knob, Probe, Rows
from anira.tasks.lano.derivation import outline
from anira.tasks.lano.grammar import CFG3B, Grammar
from anira.tasks.lano.language import length_distribution, mean_length
from anira.tasks.lano.prefix_parser import token_features
from anira.tasks.lano.prefix_probabilities import PrefixProbabilities, string_probabilities
from anira.tasks.lano.row_text import BOS_ID, EOS_ID, VOCAB, Piece, pieces, read, write
from anira.tasks.lano.sampler import Sampler, Strings

_LONGEST_ROW: Final = 4096  # a bound against typing errors
_MARKS: Final = 2  # <bos> and <eos>
_OUTLINE: Final = 2  # levels of a derivation that a picture shows


@dataclass(frozen=True, kw_only=True)
class LanoConfig:
    """Which language, and how its sentences are put into training rows."""

    start_symbol: int = 22
    """A nonterminal of cfg3b: a lower one has a smaller grammar and shorter sentences."""
    packed_length: int = 512
    """Training rows are stretches of this many tokens from a stream of sentences; 0 is one sentence a row."""

    def __post_init__(self) -> None:
        longest = len(length_distribution(CFG3B.restricted(self.start_symbol))) - 1 + _MARKS
        if self.packed_length and not longest <= self.packed_length <= _LONGEST_ROW:
            raise UserError(
                f"packed_length must be {longest} (the longest sentence of {self.start_symbol} with its marks) "
                f"to {_LONGEST_ROW}, or 0 for one sentence a row, not {self.packed_length}"
            )


class Lano(BlockTask):
    """`<bos> w1 ... wT <eos>`; all tokens but `<bos>` are supervised.

    Training rows (`knob=None`) are cut from a stream of sentences, whatever the length of each: most begin and end in
    the middle of one, and attention reaches across the borders. Rows with a fixed knob hold one sentence each.
    """

    name = "lano"
    summary = "sentences of a probabilistic grammar"
    Config = LanoConfig
    config: LanoConfig
    probe_specs = (
        Probe(name="ops_add", anchor="target", meaning="additions of the prefix parser for the token"),
        Probe(name="ops_mul", anchor="target", meaning="its multiplications"),
        Probe(name="active_gamma_slice", anchor="target", meaning="symbols awaited before the token, by who awaits"),
        Probe(name="active_beta_end", anchor="target", meaning="constituents that end with the token"),
        Probe(name="next_entropy", anchor="target", meaning="entropy in nats of what can come next, before the token"),
    )

    def __init__(self, config: LanoConfig | None = None) -> None:
        super().__init__(config)
        self.vocab = VOCAB
        start = self.config.start_symbol
        heights = {cast(int, symbol): CFG3B.heights[symbol] for symbol in CFG3B.restricted(start).nonterminals}
        # The smallest symbol stands for its level; the start symbol is the only one of its own.
        self._starts = {height: symbol for symbol, height in sorted(heights.items(), reverse=True)}
        self.knob = Knob(
            name="H",
            meaning="levels of rules above the tokens: 22 has 6, 19 has 5, 16, 13, 10 and 7 have 4 to 1",
            cost="about 2.6^H tokens",
            seen=(heights[start],),
            minimum=1,
            maximum=heights[start],
        )

    def grammar(self, knob: int | None = None) -> Grammar:
        """Return the grammar of rows with a knob, by default of training rows."""
        level = self.knob.maximum if knob is None else knob
        self.knob.check(level)
        return _grammar(self._starts[level])

    def generate(self, rng: np.random.Generator, index: Ints, knob: int | None) -> Rows:
        """Draw sentences; fill packed rows one after the other, or give every sentence a row."""
        level, count = self.knob.maximum if knob is None else knob, len(index)
        sampler, width = _sampler(self._starts[level]), self.config.packed_length
        if knob is None and width:
            ids, lengths = _stream(sampler, rng, count * width).reshape(count, width), np.full(count, width)
        else:
            strings = sampler.draw(rng, count)
            lengths = strings.lengths + _MARKS
            ids = np.zeros((count, int(lengths.max())), dtype=np.int32)
            ids[np.arange(ids.shape[1]) < lengths[:, None]] = _marked(strings)
        return Rows(ids, _labels(ids), lengths, np.full(count, level))

    def read(self, question: str) -> Rows:
        """Return the row of a text such as `3 1 2 1 <eos>`, a whole string, be it a sentence or not.

        Without <eos>, as in `3 1 2 1`, it is the beginning of a sentence: the row goes on with the likeliest next
        token each time, as an ideal model does under greedy decoding, and only what is added is supervised.
        """
        ids, is_beginning = read(question)
        prompt = len(ids) if is_beginning else 1
        row = np.array([ids + self._continuation(ids[1:]) if is_beginning else ids], dtype=np.int32)
        labels = _labels(row)
        labels[:, :prompt] = IGNORE
        return Rows(row, labels, np.array([row.shape[1]]), np.array([self.knob.maximum]))

    def instance(self, rows: Rows, i: int) -> Instance:
        """Show how the sentence is derived; of a packed row, what it is made of.

        There is no question: in its place stands what `read` takes to give the same row.
        """
        ids, first = rows.ids(i), rows.answer_positions(i)[0]
        judged = [(piece, self._chart(piece, int(rows.knob[i]))) for piece in pieces(ids)]
        known = [(piece, chart) for piece, chart in judged if chart is not None]
        return Instance(
            question=self.vocab.decode(ids[1:first]) if ids[1:first] and ids[0] == BOS_ID else write(ids),
            answer=self.vocab.decode(rows.answer(i)),
            picture="\n".join(line for piece, chart in judged for line in _picture(piece, chart, len(judged) == 1)),
            meta={
                "tokens": sum(len(piece.tokens) for piece, _ in known),
                "possible_tokens": sum(len(chart) for _, chart in known),
                "sentences": sum(piece.ended for piece, _ in known),
                "grammatical_sentences": sum(piece.ended and chart.is_sentence for piece, chart in known),
            },
        )

    def probes(self, rows: Rows, i: int) -> dict[str, Floats]:
        """Parse every sentence that begins in the row; the tokens of one that began earlier have no probes."""
        ids, grammar = rows.ids(i), self.grammar(int(rows.knob[i]))
        out = {probe.name: np.full(len(ids), np.nan) for probe in self.probe_specs}
        for piece in pieces(ids):
            if not piece.begun or not piece.tokens:
                continue
            here = slice(piece.position, piece.position + len(piece.tokens))
            for position, features in enumerate(token_features(grammar, piece.tokens), piece.position):
                for name, value in features._asdict().items():
                    out[name][position] = value
            out["next_entropy"][here] = string_probabilities(grammar, piece.tokens).entropy
        return out

    def grade(self, rows: Rows, i: int, answer_ids: Sequence[int]) -> Grade:
        """Compare with the row's own sentence; leniently, any sentence of the grammar is right.

        Two sentences drawn from the grammar are never the same, so an exact match says nothing about a model that
        wrote freely. What it wrote up to the first <eos> is graded, however long it is.
        """
        given, truth = [int(token) for token in answer_ids], rows.answer(i)
        return Grade(given[: len(truth)] == truth, self._is_sentence(rows, i, given))

    def _is_sentence(self, rows: Rows, i: int, given: list[int]) -> bool:
        written = pieces([*rows.ids(i)[: rows.answer_positions(i)[0]], *given])[0]
        chart = self._chart(written, int(rows.knob[i]))
        return chart is not None and written.ended and chart.is_sentence

    def _chart(self, piece: Piece, knob: int) -> PrefixProbabilities | None:
        """Read a piece up to its first impossible token, if its sentence begins in the row."""
        if not piece.begun:
            return None
        chart = PrefixProbabilities(self.grammar(knob))
        for token in piece.tokens:
            if not chart.append(token):
                break
        return chart

    def _continuation(self, tokens: list[int]) -> list[int]:
        chart = PrefixProbabilities(self.grammar())
        for number, token in enumerate(tokens, 1):
            if not chart.append(token):
                start = self.config.start_symbol
                raise UserError(f"no sentence of {start} begins like this: token {number} ({token}) is impossible")
        added: list[int] = []
        # Rounded, so that of equally likely tokens it is always the smallest one.
        while (best := int(chart.distribution.round(9).argmax())) < len(chart.grammar.terminals):
            added.append(cast(int, chart.grammar.terminals[best]))
            chart.append(added[-1])
        return [*added, EOS_ID]


@lru_cache
def _grammar(start: int) -> Grammar:
    return CFG3B.restricted(start)


@lru_cache(maxsize=8)
def _sampler(start: int) -> Sampler:
    return Sampler(_grammar(start))


def _stream(sampler: Sampler, rng: np.random.Generator, size: int) -> Ints:
    """Return the first `size` tokens of a stream of sentences with their marks."""
    parts: list[Ints] = []
    missing, mean = size, mean_length(sampler.grammar) + _MARKS
    while missing > 0:
        parts.append(_marked(sampler.draw(rng, math.ceil(missing / mean) + 1)))
        missing -= len(parts[-1])
    return np.concatenate(parts)[:size]


def _marked(strings: Strings) -> Ints:
    """Return all strings one after the other, each between <bos> and <eos>."""
    ends = np.cumsum(strings.lengths + _MARKS)
    flat: Ints = np.zeros(ends[-1], dtype=np.int32)
    flat[ends - 1] = EOS_ID
    flat[ends - strings.lengths - _MARKS] = BOS_ID
    flat[flat == 0] = strings.tokens
    return flat


def _labels(ids: Ints) -> Ints:
    labels: Ints = np.where((ids == 0) | (ids == BOS_ID), IGNORE, ids)
    labels[:, 0] = IGNORE  # nothing stands before it that could predict it
    return labels


def _picture(piece: Piece, chart: PrefixProbabilities | None, alone: bool) -> list[str]:
    count = f"{len(piece.tokens)} token{'s' * (len(piece.tokens) != 1)}"
    if chart is None:
        return [f"{count} of a sentence that began before"]
    if not chart.is_possible:
        return [f"{count}, no sentence: token {len(chart) + 1} is impossible"]
    if not piece.ended:
        return [f"the first {count} of a sentence"]
    if not chart.is_sentence:
        return [f"{count}, no sentence: it is not complete"]
    return outline(chart, _OUTLINE) if alone else [f"a sentence of {count}"]
