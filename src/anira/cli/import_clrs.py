"""`anira import clrs PATH`: published or own rows of CLRS-Text to one Parquet file, traces taken out."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from anira.cli.output import say_json, tell
from anira.cli.parse import parse
from anira.config import UserError
from anira.exchange.export import check_target

SUMMARY = """Read rows of CLRS-Text, take their traces out, check them, and write them to one Parquet file.

PATH is a file or a folder: Parquet, jsonl, the JSON of dm-clrs's own script, or what Hugging Face's save_to_disk wrote.
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is read, and where it goes."""

    path: Positional[Annotated[Path, arg(metavar="PATH")]]
    """File or folder to read."""
    out: Annotated[Path, arg(metavar="FILE")]
    """File to write; its name ends in .parquet."""
    style: Literal["anira", "upstream"] = "anira"
    """anira: headers name the subtask, zeros are written 0. upstream: both stay as they are."""
    max_length: Annotated[int, arg(metavar="L")] = 4096
    """Leave out rows with more tokens, and say at the end how many."""
    deduplicate: bool = False
    """Of rows with the same question keep the first only, and say at the end how many were left out."""
    skip_bad: bool = False
    """Leave out rows that cannot be read, and list them at the end; otherwise the first one is an error."""
    force: bool = False
    """Replace the file if it exists."""
    json: bool = False
    """Print the counts as one JSON object for scripts."""


def run(argv: list[str]) -> None:
    """Import rows of CLRS-Text."""
    if not argv or argv[0] in ("-h", "--help"):
        parse(Options, ["--help"], prog="anira import clrs", description=SUMMARY)  # exits
    if argv[0] != "clrs":
        raise UserError(f"only clrs can be imported, not {argv[0]!r}: anira import clrs PATH --out FILE.parquet")
    options = parse(Options, argv[1:], prog="anira import clrs", description=SUMMARY)
    check_target(options.out, force=options.force)
    if options.out.suffix != ".parquet":
        raise UserError(f"--out must end in .parquet, not {options.out.name!r}")
    if options.max_length < 1:
        raise UserError(f"--max-length must be at least 1, not {options.max_length}")
    _import(options)


def _import(options: Options) -> None:
    from anira.exchange.clrs import Wanted, import_clrs, left_out

    wanted = Wanted(
        style=options.style,
        max_length=options.max_length,
        deduplicate=options.deduplicate,
        skip_bad=options.skip_bad,
    )
    counts = import_clrs(options.path, options.out, wanted)
    if options.json:
        by_subtask = {name: getattr(counts, name) for name in ("written", "over_length", "duplicates")}
        sorted_counts = {name: dict(sorted(each.items())) for name, each in by_subtask.items()}
        say_json({**sorted_counts, "bad": counts.complaints, "bad_rows": counts.bad})
    written = f"wrote {counts.written.total()} rows of {len(counts.written)} subtasks to {options.out}"
    tell("\n".join([written, *left_out(counts, wanted)]))
