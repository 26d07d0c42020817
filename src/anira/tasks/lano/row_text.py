"""Rows of LANO as text, and the pieces of sentences in them.

A row is written as its tokens without the first `<bos>`. Three dots stand where a packed row cuts a sentence:

    3 1 2 1 3 2 <eos>                 one whole sentence
    ... 2 1 <eos> <bos> 3 1 2 ...     the end of one sentence and the beginning of another
    3 1 2                             a beginning, to be continued
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from anira.config import UserError
from anira.tasks.lano.grammar import CFG3B
from anira.tasks.vocab import BOS, EOS, PAD, Vocab

VOCAB: Final = Vocab([PAD, *map(str, CFG3B.terminals), BOS, EOS])
"""The id of a terminal is the terminal itself."""
BOS_ID: Final = VOCAB.id(BOS)
EOS_ID: Final = VOCAB.id(EOS)
CUT: Final = "..."


class Piece(NamedTuple):
    """A stretch of a row between marks."""

    position: int
    """Of its first token."""
    tokens: list[int]
    begun: bool
    """It starts with the sentence, after `<bos>`."""
    ended: bool


def pieces(ids: Sequence[int]) -> list[Piece]:
    """Return the pieces of a row, also of one that a model wrote.

    >>> pieces([1, EOS_ID, BOS_ID, 3, 2])
    [Piece(position=0, tokens=[1], begun=False, ended=True), Piece(position=3, tokens=[3, 2], begun=True, ended=False)]
    """
    out, position = [], 0
    while position < len(ids):
        begun = ids[position] == BOS_ID
        start = end = position + begun
        while end < len(ids) and ids[end] in CFG3B.terminals:
            end += 1
        ended = end < len(ids) and ids[end] == EOS_ID
        if begun or ended or end > start:
            out.append(Piece(start, list(ids[start:end]), begun, ended))
        position = max(end + ended, position + 1)
    return out


def write(ids: Sequence[int]) -> str:
    """Return the text of a row."""
    head = [] if ids[0] == BOS_ID else [CUT]
    tail = [] if ids[-1] == EOS_ID else [CUT]
    return " ".join([*head, VOCAB.decode(ids[ids[0] == BOS_ID :]), *tail])


def read(text: str) -> tuple[list[int], bool]:
    """Return the ids of a text, and whether it is the beginning of a sentence that is to be continued."""
    words = text.split()
    cut_before, cut_after = words[:1] == [CUT], words[1:] and words[-1] == CUT
    ids = VOCAB.encode(" ".join(words[cut_before : len(words) - bool(cut_after)]))
    if not cut_before and ids[:1] != [BOS_ID]:
        ids.insert(0, BOS_ID)
    _check(ids)
    is_beginning = not cut_after and ids[-1] != EOS_ID
    if is_beginning and (cut_before or ids.count(BOS_ID) > 1):
        raise UserError(f"only a single sentence is continued: end the last one with {EOS}, or with {CUT} if it is cut")
    return ids, is_beginning


def _check(ids: list[int]) -> None:
    """Raise a UserError unless the marks stand between sentences."""
    if not {*ids} & {*CFG3B.terminals}:
        raise UserError(f"the sentence is empty: give at least one of {', '.join(map(str, CFG3B.terminals))}")
    if VOCAB.id(PAD) in ids:
        raise UserError(f"{PAD} cannot stand in a sentence")
    for one, other in pairwise(ids):
        if one == BOS_ID and other == EOS_ID:
            raise UserError(f"there is an empty sentence: {BOS} {EOS}")
        if (one == EOS_ID) != (other == BOS_ID):
            raise UserError(f"sentences are separated by {EOS} {BOS}, not by {VOCAB.decode([one, other])!r}")
