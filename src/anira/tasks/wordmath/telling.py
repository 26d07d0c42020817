"""From drawn stories to rows of tokens: every sentence is a line of numbers, and all lines of all rows are written at
once.

A line has a sentence's number in TEXTS and what fills its slots, as numbers too (persons, things, amounts, ...). A
table has each sentence's tokens, with codes where slots are; so filling slots is one look-up for a whole batch.
"""

from functools import cache
from typing import Final, NamedTuple

import numpy as np

from anira.tasks.base import IGNORE, Ints, Rows
from anira.tasks.vocab import ANSWER, BOS
from anira.tasks.wordmath.sentences import (
    ENDS,
    FRAME,
    KINDS,
    NAMES,
    PRONOUNS,
    SENTENCES,
    SIGNS,
    STEPS,
    THINGS,
    WORDINGS,
    make_vocab,
)
from anira.tasks.wordmath.stories import LEAST, MOST, Stories

TEXTS: Final = ("", *(one.text for one in SENTENCES), BOS, ANSWER, *(STEPS[kind] for kind in KINDS), *ENDS)
"""All that a row can be made of; number 0 is a line without words."""
_OPEN, _ASK, _ASIDE, _CLAUSE = (1 + WORDINGS * place for place in range(len(FRAME) + 1))
_BOS, _ANSWER, _STEP, _, _END, _ = range(1 + len(SENTENCES), len(TEXTS))

_GIVEN: Final = ("name", "other", "n", "things", "toys", "left", "sign", "result")
_PRONOUNS: Final = ("she", "She", "her")  # these follow from the name
_SLOTS: Final = {slot: place for place, slot in enumerate((*_GIVEN, *_PRONOUNS))}
_GENDERS: Final = np.array([list(PRONOUNS).index(gender) for gender in NAMES.values()], dtype=np.int32)


class Style(NamedTuple):
    """How a story is told."""

    steps: bool
    """Answers show every step, or only the last number."""
    wordings: int
    """Sentences come in so many wordings."""
    asides: int
    """Sentences that change nothing."""


def tell(rng: np.random.Generator, stories: Stories, style: Style, *, limit: int) -> Rows:
    """Write every story and its answer; wordings, order and asides are drawn from random streams of their own.

    So the same problems come with and without asides, and in all wordings or in some.
    """
    wording, order, aside = rng.spawn(3)
    clauses, question = (_worded(wording, lines, style) for lines in (_clauses(stories), _question(stories)))
    asides = _worded(aside, _asides(aside, stories, style.asides), style)
    told = [_once(_BOS, stories), _shuffled(order, stories, clauses, asides), question, _once(_ANSWER, stories)]
    answer = [*[_steps(stories)] * style.steps, _end(stories, style)]
    supervised = sum(lines.shape[1] for lines in told)
    return _write(np.concatenate([*told, *answer], axis=1), stories.sizes, limit, supervised=supervised)


def _line(sentence: Ints | int, **slots: Ints) -> Ints:
    """Return lines of one sentence or of several, in the shape of their slots."""
    shape = np.broadcast_shapes(np.shape(sentence), *(value.shape for value in slots.values()))
    lines = np.zeros((*shape, 1 + len(_GIVEN)), dtype=np.int32)
    lines[..., 0] = sentence
    for slot, value in slots.items():
        lines[..., 1 + _SLOTS[slot]] = value
    return lines


def _worded(rng: np.random.Generator, lines: Ints, style: Style) -> Ints:
    """Choose wordings: they have the numbers behind the first of them."""
    lines[..., 0] += (lines[..., 0] > 0) * rng.integers(0, style.wordings, size=lines.shape[:2], dtype=np.int32)
    return lines


def _once(sentence: int, stories: Stories) -> Ints:
    return _line(np.full((len(stories.sizes), 1), sentence))


def _clauses(stories: Stories) -> Ints:
    """Return the opening and the clauses, in the order of the steps; lines beyond a row's clauses have no words."""
    width = stories.operations.shape[1]
    compares, things = stories.compares[:, None], stories.things[:, None]
    opening = _line(_OPEN, name=stories.people[:, :1], n=stories.values[:, :1], things=things)
    sentence = _CLAUSE + WORDINGS * (len(SIGNS) * compares + stories.operations)
    clauses = _line(
        np.where(np.arange(width) < stories.sizes[:, None], sentence, 0),
        name=np.where(compares, stories.people[:, 1 : width + 1], stories.people[:, :1]),
        other=stories.people[:, :width],
        n=stories.amounts,
        things=things,
    )
    return np.concatenate([opening, clauses], axis=1)


def _asides(rng: np.random.Generator, stories: Stories, count: int) -> Ints:
    """Return sentences with numbers that change nothing: about the same things, or somebody else's."""
    shape = (len(stories.sizes), count)
    others = rng.integers(1, len(NAMES), size=shape)  # not the first, to whom things happen
    toys = (stories.things[:, None] + rng.integers(1, len(THINGS), size=shape)) % len(THINGS)
    return _line(
        np.full(shape, _ASIDE),
        other=np.take_along_axis(stories.people, others, axis=1),
        n=rng.integers(LEAST, MOST + 1, size=shape),
        things=stories.things[:, None],
        toys=toys,
    )


def _shuffled(rng: np.random.Generator, stories: Stories, clauses: Ints, asides: Ints) -> Ints:
    """Put asides between the clauses. Events stay in their order, comparisons come in any."""
    keys = rng.random(clauses.shape[:2])
    keys[np.arange(keys.shape[1]) > stories.sizes[:, None]] = 2.0  # lines without words go last
    keys[:, 1:] = np.where(stories.compares[:, None], keys[:, 1:], np.sort(keys[:, 1:], axis=1))
    keys[:, 0] = np.where(stories.compares, keys[:, 0], -1.0)
    # The keys of asides come last, so that clauses have theirs with and without them.
    keys = np.concatenate([keys, rng.random(asides.shape[:2])], axis=1)
    return np.take_along_axis(np.concatenate([clauses, asides], axis=1), keys.argsort(axis=1)[..., None], axis=1)


def _question(stories: Stories) -> Ints:
    last = np.arange(len(stories.sizes)), stories.sizes * stories.compares
    return _line(_ASK, name=stories.people[last][:, None], things=stories.things[:, None])


def _steps(stories: Stories) -> Ints:
    width = stories.operations.shape[1]
    sentence = _STEP + stories.compares[:, None]
    return _line(
        np.where(np.arange(width) < stories.sizes[:, None], sentence, 0),
        name=stories.people[:, 1 : width + 1],
        left=stories.values[:, :-1],
        sign=stories.operations,
        n=stories.amounts,
        result=stories.values[:, 1:],
    )


def _end(stories: Stories, style: Style) -> Ints:
    return _line(_END + style.steps, result=np.take_along_axis(stories.values, stories.sizes[:, None], axis=1))


def _write(lines: Ints, sizes: Ints, limit: int, *, supervised: int) -> Rows:
    """Write lines into rows; tokens of the lines from number `supervised` on are labels."""
    codes = _codes(limit)[lines[..., 0]]
    pronouns = np.repeat(len(_PRONOUNS) * _GENDERS[lines[..., 1:2]], len(_PRONOUNS), axis=2)
    filling = np.concatenate([lines[..., 1:], pronouns], axis=2) + _first_tokens(limit)
    tokens = np.where(codes < 0, np.take_along_axis(filling, np.maximum(~codes, 0), axis=2), codes)
    written = codes != 0
    words = written.sum(axis=2)
    lengths, questions = words.sum(axis=1), words[:, :supervised].sum(axis=1)
    place = np.arange(int(lengths.max()))
    there = place < lengths[:, None]
    ids = np.zeros(there.shape, dtype=np.int32)
    # All lines without their padding, one behind the other, are all rows without theirs.
    ids[there] = tokens[written]
    labels = np.where(there & (place >= questions[:, None]), ids, np.int32(IGNORE))
    return Rows(ids, labels, lengths, sizes)


@cache
def _codes(limit: int) -> Ints:
    """Return the tokens of every sentence, padded with 0; slot s is written ~s."""
    vocab = make_vocab(limit)
    texts = [text.split() for text in TEXTS]
    codes = np.zeros((len(texts), max(map(len, texts))), dtype=np.int32)
    for row, words in zip(codes, texts, strict=True):
        row[: len(words)] = [~_SLOTS[word[1:-1]] if word.startswith("{") else vocab.id(word) for word in words]
    return codes


@cache
def _first_tokens(limit: int) -> Ints:
    """Return for each slot the token of its filling 0."""
    vocab = make_vocab(limit)
    names, numbers = vocab.id(next(iter(NAMES))), vocab.id("1") - 1
    things, signs = vocab.id(THINGS[0]), vocab.id(SIGNS["add"])
    pronouns = [vocab.id(word) for word in next(iter(PRONOUNS.values()))]
    return np.array([names, names, numbers, things, things, numbers, signs, numbers, *pronouns], dtype=np.int32)
