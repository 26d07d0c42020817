"""Chunks of rows to one Parquet file, with only a few chunks in memory at a time."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
from polars.io.plugins import register_io_source

from anira import __version__
from anira.config import json_text, to_dict
from anira.tasks import BlockTask, Rows

_ROW_GROUP = 16384  # rows that polars collects before it writes them,
_TOKENS = 1 << 26  # and tokens, where rows are long


def columns(task: BlockTask, rows: Rows, *, probes: bool) -> pl.Schema:
    """Return the columns of an export; row 0 of `rows` says which meta fields and probes there are."""
    integer, text, ids, floats = pl.Int64(), pl.String(), pl.List(pl.Int32), pl.List(pl.Float64)
    schema: dict[str, pl.DataType] = {
        **dict.fromkeys(("index", "seed"), integer),
        "stream": text,
        "knob": integer,
        **dict.fromkeys(("split", "question", "answer"), text),
        **dict.fromkeys(("input_ids", "labels"), ids),
        **{f"meta_{name}": integer for name in task.instance(rows, 0).meta},
    }
    for name, value in task.probes(rows, 0).items() if probes else ():
        schema[f"probe_{name}"] = floats if value.ndim == 1 else pl.List(floats)
    return pl.Schema(schema)


def settings(task: BlockTask) -> dict[str, str]:
    """Return what made the rows, to be kept in the file; `pl.read_parquet_metadata(path)` shows it."""
    return {"anira_version": __version__, "anira_task": task.name, "anira_config": json_text(to_dict(task.config))}


def write_parquet(
    chunks: Iterator[list[dict[str, Any]]], path: Path, schema: pl.Schema, metadata: dict[str, str], *, longest: int = 1
) -> None:
    """Write all chunks, each a list of rows with exactly the columns of the schema and at most `longest` tokens."""
    size = max(1, min(_ROW_GROUP, _TOKENS // longest))
    stopped = threading.Event()

    def frames(*_: object) -> Iterator[pl.DataFrame]:
        for chunk in chunks:
            if stopped.is_set():
                return
            if any(row.keys() != schema.keys() for row in chunk):
                raise ValueError(f"every row must have the columns {', '.join(schema)}")
            yield pl.DataFrame({name: [row[name] for row in chunk] for name in schema}, schema=schema)

    # polars would hold this thread until the end; from a thread of its own it leaves this one open to signals.
    # An open file, not its name: where rows cannot be made, polars may come to open it only after we have removed it.
    with path.open("wb") as file, ThreadPoolExecutor(1) as pool:
        try:
            rows = register_io_source(frames, schema=schema)
            pool.submit(rows.sink_parquet, file, row_group_size=size, metadata=metadata).result()
        except pl.exceptions.PolarsError as error:
            raise OSError(str(error)) from error  # a full disk, a lost folder: all that can go wrong in writing
        finally:
            stopped.set()
