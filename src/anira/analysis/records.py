"""Reading the records of an evaluation: its folder, its version and its columns are checked, its rows stay on disk.

    runs/mano-anira-o-cpu/1f2e3d4c-s0/records/final/
        evaluation.json           what was asked, and whether it is complete
        instances-k003.parquet    one row an instance of knob 3
        tokens-k003.parquet       one row an input position of those instances

A task that is several in one has its files by subtask and knob (instances-sort-k004.parquet), and its subtasks are
never mixed: an evaluation is that of one of them. A folder may be incomplete after an interrupt. It is read all the
same, and says so in `warnings`.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from anira.config import UserError, nearest

RECORDS_VERSION: Final = 2
_READABLE = (1, 2)  # version 1 has no cross-entropy
ASKED: Final = "evaluation.json"

_STRINGS = dict.fromkeys(
    ("run_id", "task", "subtask", "split", "variant", "select", "decode", "override", "answer"), "string"
)
_COUNTS = ("num_tokens", "iterations", "full_iterations", "decisions", "flops", "full_flops", "kv_slots")
INSTANCE_COLUMNS: Final = {
    **_STRINGS,
    **dict.fromkeys(("step", "instance_id", "knob", "seed", *_COUNTS, "full_kv_slots"), "integer"),
    **dict.fromkeys(("correct", "lenient_correct", "seen_in_training"), "boolean"),
    "threshold": "float",
}
TOKEN_COLUMNS: Final = {
    **dict.fromkeys(("instance_id", "position", "knob", "exit_depth", "executed"), "integer"),
    "target_kind": "string",
    "expected_depth": "float",
}
"""Name -> kind of the columns that analysis reads; a file may have more."""


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
            raise UserError(f"cannot read the records in {self.folder}: {_first_line(error)}") from error


def load_evaluation(folder: Path, subtask: str | None = None) -> Evaluation:
    """Open an evaluation folder; a UserError says what is wrong with it, or that one of its subtasks must be chosen."""
    asked = read_asked(folder)
    version = asked.get("records_version")
    if version not in _READABLE:
        readable = " and ".join(map(str, _READABLE))
        raise UserError(f"{folder} has records of version {version}, and this anira reads {readable}: evaluate again")
    name = _choose_subtask(folder, subtask)
    instances, tokens = (_knob_files(folder, table).get(name, {}) for table in ("instances", "tokens"))
    knobs = sorted(instances.keys() & tokens.keys())
    if not knobs:
        raise UserError(f"{folder} holds no finished knob{f' of {name}' if name else ''}: evaluate again")
    return Evaluation(
        folder,
        asked,
        _scan([instances[knob] for knob in knobs], INSTANCE_COLUMNS),
        _scan([tokens[knob] for knob in knobs], TOKEN_COLUMNS),
        tuple(_what_is_missing(asked, name, knobs, half=sorted(instances.keys() ^ tokens.keys()))),
        name,
    )


def find_subtasks(folder: Path) -> list[str]:
    """Return the subtasks of an evaluation, in the order of the request; [""] for a task that is only one."""
    asked = read_asked(folder).get("knobs")
    return list(asked) if isinstance(asked, dict) else [""]


def _choose_subtask(folder: Path, subtask: str | None) -> str:
    known = find_subtasks(folder)
    if subtask is None and len(known) > 1:
        raise UserError(f"{folder} has {len(known)} subtasks, which do not mix: choose one with --subtask")
    if subtask is not None and subtask not in known:
        hint = nearest(subtask, known) if any(known) else "its task has none"
        raise UserError(f"{folder} has no subtask {subtask!r}: {hint}")
    return known[0] if subtask is None else subtask


def read_asked(folder: Path) -> dict[str, Any]:
    """Return the contents of an evaluation.json."""
    path = folder / ASKED
    try:
        asked = json.loads(path.read_text())
    except FileNotFoundError:
        raise UserError(f"{folder} is no evaluation folder: it has no {ASKED}") from None
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path}: {_first_line(error)}") from error
    if not isinstance(asked, dict):
        raise UserError(f"{path} must hold a table of keys and values")
    return asked


def _knob_files(folder: Path, table: str) -> dict[str, dict[int, Path]]:
    """Return subtask -> knob -> file; names that are being written have another form and are left out."""
    found: dict[str, dict[int, Path]] = {}
    for path in folder.iterdir():
        match = re.fullmatch(rf"{table}(?:-(.+))?-k(\d+)\.parquet", path.name)
        if match:
            found.setdefault(match[1] or "", {})[int(match[2])] = path
    return found


def _scan(files: list[Path], columns: Mapping[str, str]) -> pl.LazyFrame:
    """Open the files of all knobs as one table; every file is checked, since an interrupt may fall between two."""
    for path in files:
        try:
            schema = pl.read_parquet_schema(path)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise UserError(f"cannot read {path}: {_first_line(error)}; evaluate this knob again") from error
        for name, kind in columns.items():
            if name not in schema:
                raise UserError(f"{path} has no column {name!r}: it was not written by anira evaluate")
            if not _is_kind(schema[name], kind):
                raise UserError(f"{path}: column {name!r} must be {kind}, not {schema[name]}")
    return pl.scan_parquet(files)


def _is_kind(dtype: pl.DataType, kind: str) -> bool:
    """Say whether a column can be read as this kind; a column without any value has no type of its own."""
    if kind == "string":
        return dtype in (pl.String, pl.Categorical, pl.Enum)
    if kind == "boolean":
        return dtype == pl.Boolean
    return dtype.is_integer() if kind == "integer" else dtype.is_float() or dtype == pl.Null


def _what_is_missing(asked: Mapping[str, Any], subtask: str, knobs: list[int], half: list[int]) -> list[str]:
    wanted = asked.get("knobs", knobs)
    absent = sorted(set(wanted[subtask] if subtask else wanted) - set(knobs))
    lines = [f"no records of knob {knob}: the evaluation was interrupted" for knob in absent]
    lines += [f"knob {knob} has one of its two tables only and is left out" for knob in half if knob not in absent]
    if not asked.get("complete", False) and not lines:
        lines = ["the evaluation was not finished: there may be fewer knobs or instances than were asked for"]
    return lines


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
