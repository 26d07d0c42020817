"""Rows of a Parquet or Arrow file as JSON lines on stdout: a program of its own, which `tables.py` starts.

    {"row": {"question": "...", "answer": "..."}}       a row, with those of the wanted columns that the file has
    {"long": 210000005}                                 instead, a row of so many bytes, which are too many
    {"error": "..."}                                    at last, if the file cannot be read
    {"end": true}                                       at last, if it was read to its end

It imports nothing of ours, so that it starts at once.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ["POLARS_MAX_THREADS"] = "1"
import polars as pl

_SPARE = 512 << 20  # bytes of memory that any file may take,
_RATIO = 40  # and that it may take for each of its own: the decoder has several copies of what was compressed


def main(path: Path, form: str, longest: int, rows: int, wanted: list[str]) -> None:
    """Print the rows, decoding so many at a time."""
    limit = _SPARE + _RATIO * path.stat().st_size
    threading.Thread(target=_end_beyond, args=[limit], daemon=True).start()
    frame = pl.scan_parquet(path.absolute(), glob=False) if form == "Parquet" else _arrow(path)
    for chunk in _chunks(frame, longest, rows, wanted):
        for row in chunk.iter_rows(named=True, buffer_size=16):
            size = row.pop("")
            _say({"row": row} if size <= longest else {"long": size})
    _say({"end": True})


def _chunks(frame: pl.LazyFrame, longest: int, rows: int, wanted: list[str]) -> Iterator[pl.DataFrame]:
    """Yield the wanted columns, and under an empty name the bytes of every row; one that has too many has no more."""
    schema = frame.collect_schema()
    present = {name: kind for name, kind in schema.items() if name in wanted}
    if not present:
        raise ValueError(f"it has none of the columns {', '.join(wanted)}, but {', '.join(schema) or 'none at all'}")
    size = pl.sum_horizontal(_bytes(name, kind) for name, kind in present.items())
    short = [pl.when(size <= longest).then(_plain(name, kind)).alias(name) for name, kind in present.items()]
    start = 0
    while len(chunk := frame.slice(start, rows).select(*short, size.alias("")).collect()):
        yield chunk
        start += rows


def _plain(name: str, kind: pl.DataType) -> pl.Expr:
    """Return a column as JSON has it: text, numbers, the length in a struct; of all else only whether it is missing."""
    column = pl.col(name)
    if _is_text(kind):
        return column.cast(pl.String)
    if isinstance(kind, pl.List) and _is_text(kind.inner):
        return column.list.head(2).cast(pl.List(pl.String))  # two are too many already
    if isinstance(kind, pl.Struct) and any(field.name == "length" for field in kind.fields):
        return pl.struct(column.struct.field("length"))
    return column if kind.is_numeric() or kind in (pl.Boolean, pl.Null) else column.is_null()


def _bytes(name: str, kind: pl.DataType) -> pl.Expr:
    column = pl.col(name)
    if _is_text(kind):
        count = column.cast(pl.String).str.len_bytes()
    elif isinstance(kind, pl.List) and _is_text(kind.inner):
        count = column.list.head(2).cast(pl.List(pl.String)).list.eval(pl.element().str.len_bytes()).list.sum()
    else:
        count = column.is_null() * 0
    return count.cast(pl.Int64).fill_null(0)


def _is_text(kind: Any) -> bool:
    return kind == pl.String or isinstance(kind, pl.Categorical | pl.Enum)


def _arrow(path: Path) -> pl.LazyFrame:
    with path.open("rb") as file:
        return pl.read_ipc_stream(file).lazy()


def _end_beyond(limit: int) -> None:
    """End this process as soon as it takes more memory, where the system says how much that is.

    A limit of the system's own would not do: polars waits forever for a part of it that was refused memory.
    """
    usage = Path("/proc/self/statm")
    while usage.exists():
        if int(usage.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") > limit:
            os._exit(1)
        time.sleep(0.005)


def _say(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:])
    except Exception as error:
        _say({"error": (str(error).strip() or type(error).__name__).splitlines()[0]})
