"""`anira export TASK`: rows to a jsonl or Parquet file, all of them or none."""

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import arg

from anira.cli.output import tell
from anira.cli.parse import parse_with_task
from anira.cli.progress import progress, rate
from anira.cli.rows import Address, probe_values, row_values
from anira.config import UserError, json_text, replacing
from anira.config.machine import check_room
from anira.tasks import BlockTask, Rows

SUFFIXES = (".jsonl", ".parquet")
_MEASURED = 16  # rows by which the size of a file is judged
_PACKED = 20  # a Parquet file is smaller than the same rows in JSON, at most by so much
Chunks = Iterator[list[dict[str, Any]]]


@dataclass(frozen=True, kw_only=True)
class Options:
    """Which rows, and where they go."""

    split: Literal["train", "valid", "eval"]
    """Stream that the rows come from."""
    count: Annotated[int, arg(aliases=["-n"], metavar="N")]
    """Number of rows."""
    out: Annotated[Path, arg(metavar="FILE")]
    """File to write; its name ends in .jsonl or .parquet."""
    seed: Annotated[int, arg(metavar="S")] = 0
    """Seed of the rows."""
    start: Annotated[int, arg(metavar="I")] = 0
    """Index of the first row, so that several calls can write the parts of a large set."""
    knob: Annotated[int | None, arg(metavar="K", help_behavior_hint="(default: the training mixture)")] = None
    """Give all rows this knob."""
    probes: bool = False
    """Add a column for each of the reference solver's probes."""
    force: bool = False
    """Replace the file if it exists."""


def run(argv: list[str]) -> None:
    """Write rows of a task to a file."""
    options, task = parse_with_task(Options, argv, command="export", summary="Write rows of a task to a file.")
    check_target(options.out, force=options.force)
    address = Address(
        seed=options.seed, stream=options.split, start=options.start, count=options.count, knob=options.knob
    )
    address.first(task)  # a knob or a seed out of range is found here
    _check_disk(task, address, options)
    start = time.monotonic()
    with progress(options.count, task.name) as advance:
        export(task, address, options.out, probes=options.probes, advance=advance)
    speed = rate(options.count, time.monotonic() - start)
    size = options.out.stat().st_size
    tell(f"wrote {options.count} rows of {task.name} to {options.out} ({size:,} bytes, {speed})")


def _check_disk(task: BlockTask, address: Address, options: Options) -> None:
    """Raise a UserError if the file would not fit on its disk, judged by its first rows."""
    _, rows = next(replace(address, count=min(address.count, _MEASURED)).chunks(task))
    bytes_each = sum(len(json_text(_flat(task, rows, i, probes=options.probes))) for i in range(len(rows))) / len(rows)
    smaller = _PACKED if options.out.suffix == ".parquet" else 1
    free = shutil.disk_usage(options.out.parent).free
    check_room(options.count * bytes_each / smaller, f"a file of {options.count} rows", free, "the disk")


def check_target(out: Path, *, force: bool) -> None:
    """Raise a UserError if a file of this name could not be written, or should not."""
    if out.suffix not in SUFFIXES:
        raise UserError(f"--out must end in {' or '.join(SUFFIXES)}, not {out.name!r}")
    if out.is_dir() or not out.parent.is_dir():
        raise UserError(f"{out} is a folder" if out.is_dir() else f"the folder of --out does not exist: {out.parent}")
    if out.exists() and not force:
        raise UserError(f"{out} exists already: choose another name, or add --force to replace it")


def export(task: BlockTask, address: Address, out: Path, *, probes: bool, advance: Callable[[int], None]) -> None:
    """Write rows chunk by chunk; the file gets its name when it is complete."""
    first = address.first(task)
    chunks = _chunks(task, address, probes=probes, advance=advance)
    with replacing(out) as part:
        if out.suffix == ".jsonl":
            _write_jsonl(chunks, part)
        else:
            from anira.cli.parquet import columns, settings, write_parquet

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
