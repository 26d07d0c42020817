"""`anira export TASK`: rows to a jsonl or Parquet file, all of them or none."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import arg

from anira.cli.output import tell
from anira.cli.parse import parse_with_task
from anira.cli.progress import progress, rate
from anira.exchange.export import check_disk, check_target, export
from anira.exchange.rows import Address


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
    out, count, probes = options.out, options.count, options.probes
    check_target(out, force=options.force)
    address = Address(seed=options.seed, stream=options.split, start=options.start, count=count, knob=options.knob)
    address.first(task)  # a knob or a seed out of range is found here
    check_disk(task, address, out, probes=probes)
    start = time.monotonic()
    with progress(count, task.name) as advance:
        export(task, address, out, probes=probes, advance=advance)
    speed = rate(count, time.monotonic() - start)
    tell(f"wrote {count} rows of {task.name} to {out} ({out.stat().st_size:,} bytes, {speed})")
