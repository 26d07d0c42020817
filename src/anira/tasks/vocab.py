"""A task's vocabulary: dense ids, whole words or single characters, no tokenizer to train."""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property

from anira.config import UserError, nearest

PAD, BOS, EOS, ANSWER = "<pad>", "<bos>", "<eos>", "<ans>"


class Vocab:
    """Token strings and their ids; id 0 is always `<pad>`.

    >>> vocab = Vocab(["<pad>", "<bos>", "+", "1"])
    >>> vocab.encode("<bos> + 1 1")
    [1, 2, 3, 3]
    >>> vocab.decode([1, 2, 3])
    '<bos> + 1'
    """

    def __init__(self, tokens: Iterable[str]) -> None:
        self.tokens = tuple(tokens)
        if self.tokens[:1] != (PAD,):
            raise ValueError(f"token 0 of a vocabulary must be {PAD}, because rows are padded with 0")
        if len(set(self.tokens)) != len(self.tokens):
            raise ValueError("the tokens of a vocabulary must be distinct")

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: str) -> bool:
        return token in self._ids

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {token: i for i, token in enumerate(self.tokens)}

    def id(self, token: str) -> int:
        """Return the id of one token; an unknown token is the user's error."""
        try:
            return self._ids[token]
        except KeyError:
            raise UserError(f"unknown token {token!r}: {nearest(token, self._ids)}") from None

    def encode(self, text: str) -> list[int]:
        """Return the ids of the tokens in `text`, which are separated by white space."""
        return [self.id(token) for token in text.split()]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of `ids`, tokens separated by one space."""
        return " ".join(self.tokens[i] for i in ids)


class CharVocab(Vocab):
    r"""A vocabulary of single characters, white space included, and of specials such as `<bos>`.

    >>> vocab = CharVocab(["<pad>", "<bos>", " ", "\n", "a"])
    >>> vocab.encode("<bos>a a\n")
    [1, 4, 2, 4, 3]
    >>> vocab.decode([1, 4, 2, 4])
    '<bos>a a'
    """

    def encode(self, text: str) -> list[int]:
        """Return the ids of the characters in `text`; a special counts as one."""
        return [self.id(token) for token in re.findall(r"<[a-z]+>|.", text, flags=re.DOTALL)]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of `ids`."""
        return "".join(self.tokens[i] for i in ids)
