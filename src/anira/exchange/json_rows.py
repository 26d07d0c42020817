"""Rows of JSON files from elsewhere: a part in memory at a time, whatever the files hold.

`read_lines` takes a file with a row per line, `read_document` one with a list of rows, or with an object that has such
a list under `examples`. What is no JSON, or no JSON that makes sense, is a UserError.
"""

import codecs
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TextIO

from anira.config import UserError
from anira.config.sealed import distinct, parse_json
from anira.exchange.tables import too_long

LONGEST: Final = 4 << 20
"""Bytes of a row, far more than any of CLRS-Text has, traces included."""
_STEP: Final = 1 << 16
_ROWS: Final = "examples"
_ENDS: Final = frozenset(",:]} \t\r\n")
_BLANK: Final = re.compile(r"[ \t\r\n]*")


def parse_line(text: str) -> Any:
    """Return what a line says.

    >>> parse_line('{"question": "minimum"}')
    {'question': 'minimum'}
    """
    try:
        return parse_json(text)
    except ValueError as error:
        raise UserError(f"not JSON: {_reason(error)}") from None


def read_lines(file: Path) -> Iterator[str | UserError]:
    """Yield the lines of a file; instead of one that is too long or not text, a UserError."""
    with file.open("rb") as stream:
        line = stream.readline(LONGEST + 1).removeprefix(codecs.BOM_UTF8)
        while line:
            size = len(line)
            while size > LONGEST and not line.endswith(b"\n") and (line := stream.readline(LONGEST)):
                size += len(line)
            yield _text(line) if size <= LONGEST else too_long(size, LONGEST)
            line = stream.readline(LONGEST + 1)


def read_document(file: Path) -> Iterator[Any]:
    """Yield the rows of a list, or those under `examples`; an object without them is a row, and some write lines."""
    first = next(read_lines(file), "")
    if isinstance(first, str) and _is_row(first):
        yield from read_lines(file)
        return
    with file.open(encoding="utf-8-sig") as stream:
        window = _Window(stream)
        try:
            opening = window.peek()
            if opening not in ("[", "{"):
                raise UserError(f"neither a list of rows nor an object with a list of {_ROWS}")
            yield from _items(window) if opening == "[" else _members(window)
            if window.peek():
                raise UserError("something follows the end of the JSON")
        except UserError as error:
            raise UserError(f"{file}: {error}") from None
        except UnicodeDecodeError as error:
            raise UserError(f"{file}: cannot be read as text: {error.reason}") from None


def _items(window: "_Window") -> Iterator[Any]:
    """Yield the values of a list."""
    window.take("[")
    if window.peek() != "]":
        yield window.value()
    while window.peek() != "]":
        window.take(",")
        yield window.value()
    window.take("]")


def _members(window: "_Window") -> Iterator[Any]:
    """Yield the rows in an object: those under `examples`, or else itself."""
    window.take("{")
    row: dict[str, Any] = {}
    spent = 0
    while window.peek() != "}":
        if row:
            window.take(",")
        start, key = window.place, window.value()
        if not isinstance(key, str) or key in row:
            raise UserError(f"{key!r} is given twice" if isinstance(key, str) else "not JSON: a key must be text")
        window.take(":")
        if key == _ROWS:
            row[key] = None
            yield from _items(window)
        else:
            row[key] = window.value()
            spent += window.place - start
        if spent > LONGEST:
            raise too_long(spent, LONGEST)
    window.take("}")
    if _ROWS not in row:
        yield row


class _Window:
    """The part of a file around the place that is read."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._text, self._at, self._passed = stream, "", 0, 0

    @property
    def place(self) -> int:
        """The number of the character that comes next, counted from 1."""
        return self._passed + self._at + 1

    def peek(self) -> str:
        """Return the next character that is not blank, or nothing at the end."""
        while True:
            blank = _BLANK.match(self._text, self._at)
            self._at = blank.end() if blank else self._at
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def take(self, mark: str) -> None:
        """Pass a mark, which must come next."""
        if self.peek() != mark:
            raise UserError(f"not JSON: {mark!r} is missing at character {self.place:,}")
        self._at += 1

    def value(self) -> Any:
        """Return the next value."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except (ValueError, RecursionError) as error:
                # It may only be cut off, and then it is right after more of it was read.
                if not isinstance(error, json.JSONDecodeError) or not self._more():
                    raise UserError(f"not JSON: {_reason(error)} in what begins at character {self.place:,}") from None
                continue
            size = end - self._at
            if self._text[end : end + 1] in _ENDS or not self._more():  # a number may go on
                self._at += size
                return value

    def _more(self) -> bool:
        """Read on, and forget what was passed; return whether there was more."""
        if len(self._text) - self._at > LONGEST:
            raise UserError(f"what begins at character {self.place:,} has no end within {LONGEST:,} characters")
        self._passed += self._at
        self._text, self._at = self._text[self._at :], 0
        more = self._stream.read(max(_STEP, len(self._text)))
        self._text += more
        return bool(more)


def _is_row(line: str) -> bool:
    try:
        value = parse_line(line)
    except UserError:
        return False
    return isinstance(value, dict) and _ROWS not in value


def _text(line: bytes) -> str | UserError:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        return UserError(f"cannot be read as text: {error.reason}")


def _reason(error: Exception) -> str:
    """Say in our words what Python says in many."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return error.msg
    return "a number has too many digits" if "digits" in str(error) else str(error)


_DECODER: Final = json.JSONDecoder(object_pairs_hook=distinct)
