"""A shard: a file of documents, read a little at a time from any place in it.

A row's address is (group, row): in Parquet the row group and the row in it, in jsonl the block of 4 MiB in which the
line begins and the line's number in it. So a reader returns to a row without reading what comes before its group.
"""

import codecs
import json
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, BinaryIO, Final, NamedTuple, Protocol

from anira.config import UserError, how_to_install

BLOCK: Final = 4 << 20
_ROWS: Final = 64  # decoded at a time: a file may repeat one huge cell, which its dictionary holds only once
_SPARE: Final = 512 << 20  # bytes that a row group may unpack to,
_RATIO: Final = 40  # and for each of its own: text shrinks by a factor of 3 to 10, a bomb by thousands
_ESCAPES: Final = 6  # bytes that JSON may write for one byte of text, as in \u0001


class LeftOut(StrEnum):
    """Why a row is not read as a document."""

    EMPTY = "empty"
    LONG = "too long"
    BAD = "not text"
    OVERLAP = "overlapping"
    HELD_OUT = "held out"
    """From training; in validation, the reverse."""


class Row(NamedTuple):
    """A row of a shard: its address, and its document."""

    group: int
    row: int
    cell: str | LeftOut


class Shard(Protocol):
    """A file of documents."""

    name: str
    size: int

    def rows(self, group: int = 0, row: int = 0) -> Iterator[Row]:
        """Yield the rows from an address on, to the end."""


Opener = Callable[[], BinaryIO]


class ParquetShard:
    """A Parquet file; only its text column is read, some rows at a time."""

    def __init__(self, name: str, size: int, opener: Opener, *, column: str, longest: int) -> None:
        self.name, self.size, self._open = name, size, opener
        self.column, self.longest = column, longest

    def rows(self, group: int = 0, row: int = 0) -> Iterator[Row]:
        """Yield the rows from an address on."""
        pyarrow, parquet = _need_pyarrow()
        with self._open() as stream:
            try:
                # Without buffering ahead, pages are read as they are needed, not whole row groups.
                file = parquet.ParquetFile(stream, pre_buffer=False, buffer_size=1 << 20)
                index = self._text_index(pyarrow, file)
                for number in range(group, file.num_row_groups):
                    self._check_group(file.metadata.row_group(number).column(index), number)
                    batches = file.iter_batches(batch_size=_ROWS, row_groups=[number], columns=[self.column])
                    yield from self._group_rows(pyarrow, batches, number, row if number == group else 0)
            except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
                why = (str(error).strip() or type(error).__name__).splitlines()[0]
                raise UserError(f"{self.name} cannot be read as Parquet: {why}") from error

    def _text_index(self, pyarrow: Any, file: Any) -> int:
        """Return the number of the text column, which must hold text."""
        schema, types = file.schema_arrow, pyarrow.types
        if self.column not in schema.names:
            raise UserError(_no_column(self.name, self.column, schema.names))
        kind = schema.field(self.column).type
        if types.is_null(kind):  # what is written for a column without a single value
            raise UserError(f"{self.name} is empty: remove it")
        if not (types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)):
            raise UserError(f"{self.name}: column {self.column!r} must hold text, not {kind}")
        names = [file.schema.column(i).path for i in range(len(file.schema))]
        return names.index(self.column)

    def _check_group(self, chunk: Any, number: int) -> None:
        if chunk.total_uncompressed_size > _SPARE + _RATIO * chunk.total_compressed_size:
            sizes = f"{chunk.total_compressed_size:,} to {chunk.total_uncompressed_size:,} bytes"
            raise UserError(f"{self.name}: row group {number} would unpack from {sizes}: this is no text")

    def _group_rows(self, pyarrow: Any, batches: Iterator[Any], number: int, first: int) -> Iterator[Row]:
        compute, passed = pyarrow.compute, 0
        for batch in batches:
            if passed + len(batch) > first:
                texts = batch.column(0).slice(max(first - passed, 0))
                sizes = compute.binary_length(texts)
                short = compute.if_else(compute.greater(sizes, self.longest), None, texts).to_pylist()
                start = passed + len(batch) - len(texts)
                for i, (size, text) in enumerate(zip(sizes.to_pylist(), short, strict=True)):
                    cell = LeftOut.LONG if (size or 0) > self.longest else text or LeftOut.EMPTY
                    yield Row(number, start + i, cell)
            passed += len(batch)


class LinesShard:
    """A jsonl file: an object per line, with the document under the column's name."""

    def __init__(self, name: str, size: int, opener: Opener, *, column: str, longest: int) -> None:
        self.name, self.size, self._open = name, size, opener
        self.column, self.longest = column, longest
        self._most = _ESCAPES * longest + (1 << 16)  # bytes of a line; other columns may have some too

    def rows(self, group: int = 0, row: int = 0) -> Iterator[Row]:
        """Yield the rows from an address on."""
        with self._open() as stream:
            _find_line(stream, group * BLOCK)
            block, number = group, 0
            while True:
                begin = stream.tell()
                if begin // BLOCK != block:
                    block, number = begin // BLOCK, 0
                line, whole = _read_line(stream, self._most)
                if not line:
                    return
                if (block, number) >= (group, row):
                    yield Row(block, number, self._cell(line, begin) if whole else LeftOut.LONG)
                number += 1

    def _cell(self, line: bytes, begin: int) -> str | LeftOut:
        if line.isspace():
            return LeftOut.EMPTY
        where = f"{self.name}, the line at byte {begin:,}"
        try:
            content = json.loads(line if begin else line.removeprefix(codecs.BOM_UTF8))
        except (ValueError, RecursionError) as error:
            raise UserError(f"{where} is not JSON: {error}") from None
        if not isinstance(content, Mapping):
            raise UserError(f"{where} must be an object with a column {self.column!r}")
        if self.column not in content:
            raise UserError(_no_column(where, self.column, list(content)))
        text = content[self.column]
        if text is not None and not isinstance(text, str):
            raise UserError(f"{where}: column {self.column!r} must hold text, not {type(text).__name__}")
        return self._fitting(text)

    def _fitting(self, text: str | None) -> str | LeftOut:
        if not text:
            return LeftOut.EMPTY
        try:
            size = len(text) if text.isascii() else len(text.encode())
        except UnicodeEncodeError:  # half of a pair that JSON may escape, and that no text has
            return LeftOut.BAD
        return LeftOut.LONG if size > self.longest else text


def _find_line(stream: BinaryIO, position: int) -> None:
    """Go to the first line that begins at a position or after it."""
    stream.seek(max(position - 1, 0))
    while position and not (part := stream.readline(1 << 16)).endswith(b"\n") and part:
        pass


def _read_line(stream: BinaryIO, most: int) -> tuple[bytes, bool]:
    """Return the next line, and whether that is all of it: of a longer one only the beginning is kept."""
    line = part = stream.readline(most)
    whole = True
    while len(part) == most and not part.endswith(b"\n"):
        part = stream.readline(most)
        whole = whole and not part
    return line, whole


def _no_column(where: str, column: str, there: list[str]) -> str:
    return f"{where} has no column {column!r}, but {', '.join(map(str, there)) or 'none at all'}: name it with --column"


def _need_pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError:
        raise UserError(f"reading Parquet needs pyarrow: {how_to_install('text')}") from None
    return pyarrow, pyarrow.parquet
