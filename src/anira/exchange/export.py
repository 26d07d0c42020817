"""Rows of a task to a jsonl or Parquet file, all of them or none."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from anira.config import UserError, json_text, replacing
from anira.config.machine import check_room
from anira.exchange.rows import Address, probe_values, row_values
from anira.tasks import BlockTask, Rows

SUFFIXES = (".jsonl", ".parquet")
_MEASURED = 16  # rows by which the size of a file is judged
_PACKED = 20  # a Parquet file is smaller than the same rows in JSON, at most by so much
Chunks = Iterator[list[dict[str, Any]]]


def check_target(out: Path, *, force: bool) -> None:
    """Raise a UserError if a file of this name could not be written, or should not."""
    if out.suffix not in SUFFIXES:
        raise UserError(f"--out must end in {' or '.join(SUFFIXES)}, not {out.name!r}")
    if out.is_dir() or not out.parent.is_dir():
        raise UserError(f"{out} is a folder" if out.is_dir() else f"the folder of --out does not exist: {out.parent}")
    if out.exists() and not force:
        raise UserError(f"{out} exists already: choose another name, or add --force to replace it")


def check_disk(task: BlockTask, address: Address, out: Path, *, probes: bool) -> None:
    """Raise a UserError if the file would not fit on its disk, judged by its first rows."""
    _, rows = next(replace(address, count=min(address.count, _MEASURED)).chunks(task))
    bytes_each = sum(len(json_text(_flat(task, rows, i, probes=probes))) for i in range(len(rows))) / len(rows)
    smaller = _PACKED if out.suffix == ".parquet" else 1
    free = shutil.disk_usage(out.parent).free
    check_room(address.count * bytes_each / smaller, f"a file of {address.count} rows", free, "the disk")


def export(task: BlockTask, address: Address, out: Path, *, probes: bool, advance: Callable[[int], None]) -> None:
    """Write rows chunk by chunk; the file gets its name when it is complete."""
    first = address.first(task)
    chunks = _chunks(task, address, probes=probes, advance=advance)
    with replacing(out) as part:
        if out.suffix == ".jsonl":
            _write_jsonl(chunks, part)
        else:
            from anira.exchange.parquet import columns, settings, write_parquet

            write_parquet(chunks, part, columns(task, first, probes=probes), settings(task))


def _chunks(task: BlockTask, address: Address, *, probes: bool, advance: Callable[[int], None]) -> Chunks:
    place = {"seed": address.seed, "stream": address.stream}
    for start, rows in address.chunks(task):
        yield [{"index": start + i, **place, **_flat(task, rows, i, probes=probes)} for i in range(len(rows))]
        advance(len(rows))


def _flat(task: BlockTask, rows: Rows, i: int, *, probes: bool) -> dict[str, Any]:
    """Return one row with a column of its own for every meta field and probe."""
    values = row_values(task, rows, i)
    meta = {f"meta_{name}": value for name, value in values.pop("meta").items()}
    probed = probe_values(task, rows, i) if probes else {}
    return {**values, **meta, **{f"probe_{name}": value for name, value in probed.items()}}


def _write_jsonl(chunks: Chunks, path: Path) -> None:
    with path.open("w") as file:
        for chunk in chunks:
            file.writelines(json_text(row) + "\n" for row in chunk)
