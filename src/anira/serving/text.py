"""Tokens to text as they come, up to the first stop string."""

from collections.abc import Callable, Sequence
from typing import Final

_BROKEN: Final = "\ufffd"
"""What stands for bytes that are no character, or not yet."""
_PENDING: Final = 3
"""Bytes of a character that may come with later tokens: UTF-8 has at most four for each."""
_WINDOW: Final = 32
"""Tokens that are decoded at a time."""
_CONTEXT: Final = 6
"""Tokens that are decoded again, because how one is written can depend on those before it."""


class TextStream:
    """The text of tokens, in pieces that never change: what may be half a character or half a stop string waits.

    >>> stream = TextStream(lambda ids: "".join(map(chr, ids)), stops=["END"])
    >>> [stream.add(ord(letter)) for letter in "an ENEND!"]
    ['a', 'n', ' ', '', '', 'EN', '', '', '']
    >>> stream.stopped, stream.finish()
    (True, '')
    """

    def __init__(self, decode: Callable[[Sequence[int]], str], stops: Sequence[str] = ()) -> None:
        self.stopped = False
        """Whether a stop string has come: the text ends before it."""
        self._decode, self._stops = decode, stops
        self._ids: list[int] = []
        self._shown = 0
        self._held = ""

    def add(self, token: int) -> str:
        """Return the text that is certain now, with this token."""
        if self.stopped:
            return ""
        self._ids.append(token)
        text = self._decode(self._ids)
        broken = len(text) - len(text.rstrip(_BROKEN))
        whole = max(len(text) - min(broken, _PENDING), self._shown)
        self._held += text[self._shown : whole]
        self._shown = whole
        if len(self._ids) > _WINDOW and not broken:
            self._ids = self._ids[-_CONTEXT:]
            self._shown = len(self._decode(self._ids))
        return self._certain()

    def finish(self) -> str:
        """Return what was held back, at the end."""
        if self.stopped:
            return ""
        rest, self._held = self._held + self._decode(self._ids)[self._shown :], ""
        return rest

    def _certain(self) -> str:
        """Take the text before a stop string, or before what may become one."""
        places = [place for stop in self._stops if (place := self._held.find(stop)) >= 0]
        if places:
            self.stopped, end = True, min(places)
        else:
            end = len(self._held) - max([_overlap(self._held, stop) for stop in self._stops], default=0)
        text, self._held = self._held[:end], self._held[end:]
        return text


def _overlap(text: str, stop: str) -> int:
    """Return how much of the text's end is a beginning of the stop string.

    >>> _overlap("the EN", "END"), _overlap("the", "END")
    (2, 0)
    """
    return next((size for size in range(min(len(stop) - 1, len(text)), 0, -1) if text.endswith(stop[:size])), 0)
