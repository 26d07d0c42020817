"""Published or own rows of CLRS-Text into one Parquet file, traces taken out."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from anira.config import UserError, json_text, printable, replacing
from anira.exchange.clrs_files import find_files, read_rows
from anira.exchange.json_rows import parse_line
from anira.exchange.parquet import write_parquet
from anira.tasks.clrs.fields import Style
from anira.tasks.clrs.published import FIELDS, normalise
from anira.tasks.clrs.task import encode_rows, subtask_knob

_CHUNK = 1024  # rows that are written at a time,
_TOKENS = 1 << 22  # and tokens, where rows are long
_LISTED = 50  # bad rows that are listed one by one,
_REMEMBERED = 10_000  # and that are kept
_SCHEMA = pl.Schema(
    {
        "index": pl.Int64(),
        **dict.fromkeys(("subtask", "algorithm"), pl.String()),
        "knob": pl.Int64(),
        **dict.fromkeys(("split", "question", "answer"), pl.String()),
        **dict.fromkeys(("input_ids", "labels"), pl.List(pl.Int32)),
        "traced": pl.Boolean(),
        "file": pl.String(),
        "row": pl.Int64(),
    }
)


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which rows are kept, and how they are written."""

    style: Style
    max_length: int
    deduplicate: bool
    skip_bad: bool


@dataclass
class Counts:
    """What became of the rows, by subtask."""

    written: Counter[str] = field(default_factory=Counter)
    over_length: Counter[str] = field(default_factory=Counter)
    duplicates: Counter[str] = field(default_factory=Counter)
    bad: int = 0
    complaints: list[str] = field(default_factory=list)
    """File, row and reason of the first bad rows."""


def import_clrs(path: Path, out: Path, wanted: Wanted) -> Counts:
    """Write the rows of a file or a folder, and return what became of them; that none is left is an error."""
    files = find_files(path)
    if out.exists() and any(out.samefile(file) for file in files):
        raise UserError(f"--out {out} is among the files to read: choose another name")
    counts = Counts()
    settings = {"anira_task": "clrs", "anira_config": json_text({"style": wanted.style})}
    with replacing(out) as part:
        write_parquet(_chunks(files, wanted, counts), part, _SCHEMA, settings, longest=wanted.max_length)
        if not counts.written:
            reasons = "\n".join(["nothing was written", *left_out(counts, wanted)])
            raise UserError(f"{path}: no row is left to write; {reasons}")
    return counts


def left_out(counts: Counts, wanted: Wanted) -> list[str]:
    """Say what was left out and why, one line per reason and per bad row."""
    lines = []
    reasons = {f"longer than {wanted.max_length} tokens": counts.over_length, "asked before": counts.duplicates}
    for reason, by_subtask in reasons.items():
        if by_subtask:
            each = ", ".join(f"{name} {number}" for name, number in sorted(by_subtask.items()))
            lines.append(f"left out {by_subtask.total()} rows {reason}: {each}")
    if counts.bad:
        lines.append(f"left out {counts.bad} rows that cannot be read:")
        lines += [f"  {complaint}" for complaint in counts.complaints[:_LISTED]]
    if counts.bad > _LISTED:
        lines.append(f"  and {counts.bad - _LISTED} more (--json lists up to {_REMEMBERED:,})")
    return lines


def _chunks(files: Sequence[Path], wanted: Wanted, counts: Counts) -> Iterator[list[dict[str, Any]]]:
    chunk: list[dict[str, Any]] = []
    tokens = 0
    for row in _kept(files, wanted, counts):
        chunk.append(row)
        tokens += len(row["input_ids"])
        if len(chunk) == _CHUNK or tokens > _TOKENS:
            yield chunk
            chunk, tokens = [], 0
    yield chunk


def _kept(files: Sequence[Path], wanted: Wanted, counts: Counts) -> Iterator[dict[str, Any]]:
    """Yield the rows to write, counting the others."""
    asked: set[bytes] = set()
    for file, number, content in read_rows(files, FIELDS):
        try:
            row = normalise(_fields(content), wanted.style)
        except UserError as error:
            complaint = f"{file}, row {number}: {error}"
            if not wanted.skip_bad:
                raise UserError(f"{complaint} (--skip-bad leaves such rows out)") from None
            counts.bad += 1
            counts.complaints += [complaint] if len(counts.complaints) < _REMEMBERED else []
            continue
        if len(row.question) + len(row.answer) + 2 > wanted.max_length:
            counts.over_length[row.subtask] += 1
            continue
        if wanted.deduplicate:
            question = _digest(row.subtask, row.question)
            if question in asked:
                counts.duplicates[row.subtask] += 1
                continue
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
