"""`anira import clrs PATH`: published or own rows of CLRS-Text to one Parquet file, traces taken out."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Positional, arg

from anira.cli.clrs_files import find_files, read_rows
from anira.cli.export import check_target
from anira.cli.json_rows import parse_line
from anira.cli.output import say_json, tell
from anira.cli.parse import parse
from anira.config import UserError, json_text, printable, replacing

SUMMARY = """Read rows of CLRS-Text, take their traces out, check them, and write them to one Parquet file.

PATH is a file or a folder: Parquet, jsonl, the JSON of dm-clrs's own script, or what Hugging Face's save_to_disk wrote.
"""
_CHUNK = 1024  # rows that are written at a time,
_TOKENS = 1 << 22  # and tokens, where rows are long
_LISTED = 50  # bad rows that are listed one by one,
_REMEMBERED = 10_000  # and with --json


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
    """Leave rows out that have more tokens; how many is said at the end."""
    deduplicate: bool = False
    """Keep only the first of rows with the same question; how many were left out is said at the end."""
    skip_bad: bool = False
    """Leave rows out that cannot be read, and list them at the end; otherwise the first one is an error."""
    force: bool = False
    """Replace the file if it exists."""
    json: bool = False
    """Print the counts as one JSON object for scripts."""


@dataclass
class Counts:
    """What became of the rows, by subtask."""

    written: Counter[str] = field(default_factory=Counter)
    over_length: Counter[str] = field(default_factory=Counter)
    duplicates: Counter[str] = field(default_factory=Counter)
    bad: int = 0
    complaints: list[str] = field(default_factory=list)
    """File, row and reason of the first bad rows."""


def run(argv: list[str]) -> None:
    """Import rows of CLRS-Text."""
    if not argv or argv[0] in ("-h", "--help"):
        parse(Options, ["--help"], prog="anira import clrs", description=SUMMARY)  # exits
    if argv[0] != "clrs":
        raise UserError(f"only clrs can be imported, not {argv[0]!r}: anira import clrs PATH --out FILE.parquet")
    options = parse(Options, argv[1:], prog="anira import clrs", description=SUMMARY)
    files = _checked(options)
    counts = import_clrs(options, files)
    if options.json:
        say_json(_as_json(counts))
    tell(_report(counts, options))


def _checked(options: Options) -> list[Path]:
    """Return the files to read, after everything was looked at that can be wrong before any is."""
    check_target(options.out, force=options.force)
    if options.out.suffix != ".parquet":
        raise UserError(f"--out must end in .parquet, not {options.out.name!r}")
    if options.max_length < 1:
        raise UserError(f"--max-length must be at least 1, not {options.max_length}")
    files = find_files(options.path)
    if options.out.exists() and any(options.out.samefile(file) for file in files):
        raise UserError(f"--out {options.out} is among the files to read: choose another name")
    return files


def import_clrs(options: Options, files: Sequence[Path]) -> Counts:
    """Write the rows of these files, and return what became of them."""
    import polars as pl

    from anira.cli.parquet import write_parquet

    integer, text, ids = pl.Int64(), pl.String(), pl.List(pl.Int32)
    schema = pl.Schema(
        {
            "index": integer,
            **dict.fromkeys(("subtask", "algorithm"), text),
            "knob": integer,
            **dict.fromkeys(("split", "question", "answer"), text),
            **dict.fromkeys(("input_ids", "labels"), ids),
            "traced": pl.Boolean(),
            "file": text,
            "row": integer,
        }
    )
    counts = Counts()
    settings = {"anira_task": "clrs", "anira_config": json_text({"style": options.style})}
    with replacing(options.out) as part:
        write_parquet(_chunks(options, files, counts), part, schema, settings, longest=options.max_length)
        if not counts.written:
            raise UserError(f"{options.path}: no row is left to write; {_report(counts, options)}")
    return counts


def _chunks(options: Options, files: Sequence[Path], counts: Counts) -> Iterator[list[dict[str, Any]]]:
    chunk: list[dict[str, Any]] = []
    tokens = 0
    for row in _kept(options, files, counts):
        chunk.append(row)
        tokens += len(row["input_ids"])
        if len(chunk) == _CHUNK or tokens > _TOKENS:
            yield chunk
            chunk, tokens = [], 0
    yield chunk


def _kept(options: Options, files: Sequence[Path], counts: Counts) -> Iterator[dict[str, Any]]:
    """Yield the rows to write, counting the others."""
    from anira.tasks.clrs.published import FIELDS, normalise

    asked: set[bytes] = set()
    for file, number, content in read_rows(files, FIELDS):
        try:
            row = normalise(_fields(content), options.style)
        except UserError as error:
            complaint = f"{file}, row {number}: {error}"
            if not options.skip_bad:
                raise UserError(f"{complaint} (--skip-bad leaves such rows out)") from None
            counts.bad += 1
            counts.complaints += [complaint] if len(counts.complaints) < _REMEMBERED else []
            continue
        if len(row.question) + len(row.answer) + 2 > options.max_length:
            counts.over_length[row.subtask] += 1
            continue
        question = _digest(row.subtask, row.question) if options.deduplicate else b""
        if question in asked:
            counts.duplicates[row.subtask] += 1
            continue
        if options.deduplicate:
            asked.add(question)
        index = counts.written.total()
        counts.written[row.subtask] += 1
        yield {"index": index, **_columns(row), "file": printable(str(file)), "row": number}


def _fields(content: Any) -> Mapping[str, Any]:
    """Return the fields of a row; the line of a jsonl file is decoded first."""
    if isinstance(content, UserError):
        raise content
    if isinstance(content, str):
        content = parse_line(content)
    if not isinstance(content, Mapping):
        raise UserError("a row must be an object with a question and an answer")
    return content


def _digest(*texts: str) -> bytes:
    """Return what tells questions apart; the questions themselves may be more than memory holds."""
    return hashlib.blake2b("\0".join(texts).encode(), digest_size=16).digest()


def _columns(row: Any) -> dict[str, Any]:
    import numpy as np

    from anira.tasks.clrs.task import encode_rows, subtask_knob

    rows = encode_rows([(row.question, row.answer)], np.array([row.size]))
    return {
        "subtask": row.subtask,
        "algorithm": row.algorithm,
        "knob": row.size,
        "split": subtask_knob(row.subtask).split(row.size),
        "question": row.question,
        "answer": row.answer,
        "input_ids": rows.ids(0),
        "labels": rows.labels[0].tolist(),
        "traced": row.traced,
    }


def _report(counts: Counts, options: Options) -> str:
    """Say what was written, and what was left out and why."""
    written, tasks = counts.written.total(), len(counts.written)
    lines = [f"wrote {written} rows of {tasks} subtasks to {options.out}" if written else "nothing was written"]
    left_out = {
        f"longer than {options.max_length} tokens": counts.over_length,
        "asked before": counts.duplicates,
    }
    for reason, by_subtask in left_out.items():
        if by_subtask:
            each = ", ".join(f"{name} {number}" for name, number in sorted(by_subtask.items()))
            lines.append(f"left out {by_subtask.total()} rows {reason}: {each}")
    if counts.bad:
        lines.append(f"left out {counts.bad} rows that cannot be read:")
        lines += [f"  {complaint}" for complaint in counts.complaints[:_LISTED]]
        more = counts.bad - _LISTED
        lines += [f"  and {more} more (--json lists up to {_REMEMBERED:,})"] if more > 0 else []
    return "\n".join(lines)


def _as_json(counts: Counts) -> dict[str, Any]:
    return {
        "written": dict(sorted(counts.written.items())),
        "over_length": dict(sorted(counts.over_length.items())),
        "duplicates": dict(sorted(counts.duplicates.items())),
        "bad": counts.complaints,
        "bad_rows": counts.bad,
    }
