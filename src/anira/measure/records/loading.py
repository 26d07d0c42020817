"""Reading the records of an evaluation: its folder, its version and its columns are checked, its rows stay on disk.

    runs/mano-anira-o-cpu/1f2e3d4c-s0/records/final/
        evaluation.json           what was asked, whether it is complete, and the check-sums of the tables
        instances-k003.parquet    one row per instance of knob 3
        tokens-k003.parquet       one row per input position of those instances

A task that is several in one has its files by subtask and knob (instances-sort-k004.parquet), and its subtasks are
never mixed: an evaluation is that of one of them. A folder may be incomplete after an interrupt. It is read all the
same, and says so in `warnings`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from anira.config import UserError, nearest
from anira.config.sealed import check_file
from anira.measure.records.stored import read_asked, run_config
from anira.records import RECORDS_VERSION
from anira.records.checks import check_files
from anira.records.opening import open_tables

_READABLE = tuple(range(1, RECORDS_VERSION + 1))


@dataclass(frozen=True)
class Evaluation:
    """The two tables of one evaluation (of one subtask), not yet read, and what was asked for when they were made."""

    folder: Path
    asked: Mapping[str, Any]
    instances: pl.LazyFrame
    tokens: pl.LazyFrame
    warnings: tuple[str, ...]
    """What is missing from the folder; empty where nothing is."""
    subtask: str = ""
    """Empty for a task that is only one."""

    @property
    def probes(self) -> list[str]:
        """The names of the probes that the token rows hold, without their prefix."""
        names = self.tokens.collect_schema().names()
        return [name.removeprefix("probe_") for name in names if name.startswith("probe_")]

    def collect(self, frame: pl.LazyFrame) -> pl.DataFrame:
        """Read what a query over the two tables needs; a file that cannot be read is the user's error."""
        try:
            return frame.collect()
        except (pl.exceptions.PolarsError, OSError) as error:
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise UserError(f"cannot read the records in {self.folder}: {reason}") from error


def load_evaluation(folder: Path, subtask: str | None = None) -> Evaluation:
    """Open an evaluation folder; a UserError says what is wrong with it, or that one of its subtasks must be chosen."""
    asked = read_asked(folder)
    run_config(folder)  # records of another run are refused
    version = asked["records_version"]
    if version not in _READABLE:
        readable = ", ".join(map(str, _READABLE))
        raise UserError(f"{folder} has records of version {version}, and this anira reads {readable}: evaluate again")
    name = _choose_subtask(folder, subtask)
    instances, tokens = (_knob_files(folder, asked["files"], table, name) for table in ("instances", "tokens"))
    knobs = sorted(instances.keys() & tokens.keys())
    if not knobs:
        raise UserError(f"{folder} holds no finished knob{f' of {name}' if name else ''}: evaluate again")
    for knob in knobs:
        check_files(asked, knob, instances[knob], tokens[knob])
    return Evaluation(
        folder,
        asked,
        open_tables(*(instances[knob] for knob in knobs)),
        open_tables(*(tokens[knob] for knob in knobs)),
        tuple(_what_is_missing(asked, name, knobs, half=sorted(instances.keys() ^ tokens.keys()))),
        name,
    )


def find_subtasks(folder: Path) -> list[str]:
    """Return the subtasks of an evaluation, in the order of the request; [""] for a task that is only one."""
    asked = read_asked(folder)["knobs"]
    return list(asked) if isinstance(asked, dict) else [""]


def _choose_subtask(folder: Path, subtask: str | None) -> str:
    known = find_subtasks(folder)
    if subtask is None and len(known) > 1:
        raise UserError(f"{folder} has {len(known)} subtasks, which do not mix: choose one with --subtask")
    if subtask is not None and subtask not in known:
        hint = nearest(subtask, known) if any(known) else "its task has none"
        raise UserError(f"{folder} has no subtask {subtask!r}: {hint}")
    return known[0] if subtask is None else subtask


def _knob_files(folder: Path, listed: Mapping[str, Any], table: str, subtask: str) -> dict[int, Path]:
    """Return knob -> file of one table; only files that evaluation.json lists count, and they must be as listed."""
    head = f"{table}-{subtask}" if subtask else table
    matches = {name: re.fullmatch(rf"{re.escape(head)}-k(\d{{3,9}})\.parquet", name) for name in listed}
    try:
        return {int(match[1]): check_file(folder, name, listed[name]) for name, match in matches.items() if match}
    except UserError as error:
        raise UserError(f"{error}; remove {folder} and evaluate again") from error


def _what_is_missing(asked: Mapping[str, Any], subtask: str, knobs: list[int], half: list[int]) -> list[str]:
    wanted = asked["knobs"]
    absent = sorted(set(wanted[subtask] if subtask else wanted) - set(knobs))
    lines = [f"no records of knob {knob}: the evaluation was interrupted" for knob in absent]
    lines += [f"knob {knob} has one of its two tables only and is left out" for knob in half if knob not in absent]
    if not asked["complete"] and not lines:
        lines = ["the evaluation was not finished: there may be fewer knobs or instances than were asked for"]
    return lines
