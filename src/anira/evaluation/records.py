"""Records: per-instance and per-token tables in Parquet, the only thing that analysis reads.

An evaluation is a folder with two files per knob (of a task that is several in one: per subtask and knob), and
evaluation.json, which lists them with their check-sums. A knob is done once it is listed: an interrupt leaves whole
knobs only, and the next call goes on where this one stopped.
"""

import io
from pathlib import Path
from typing import Any, Final

import polars as pl

from anira.config import UserError
from anira.config.files import write_file
from anira.config.folder import inside
from anira.config.sealed import check_file, facts_of, read_sealed, write_sealed
from anira.records import ASKED, RECORDS_VERSION
from anira.records.checks import check_files, complaints
from anira.records.opening import open_tables

INSTANCE_SCHEMA: Final[dict[str, Any]] = {
    "run_id": pl.String,
    "step": pl.Int64,
    "instance_id": pl.Int64,
    "task": pl.String,
    "subtask": pl.String,
    "knob": pl.Int64,
    "split": pl.String,
    "variant": pl.String,
    "seed": pl.Int64,
    "select": pl.String,
    "threshold": pl.Float64,
    "decode": pl.String,
    "override": pl.String,
    "correct": pl.Boolean,
    "lenient_correct": pl.Boolean,
    "question": pl.String,
    "answer": pl.String,
    "predicted": pl.String,
    "seen_in_training": pl.Boolean,
    "num_tokens": pl.Int32,
    "iterations": pl.Int64,
    "full_iterations": pl.Int64,
    "decisions": pl.Int64,
    "flops": pl.Int64,
    "full_flops": pl.Int64,
    "kv_slots": pl.Int64,
    "full_kv_slots": pl.Int64,
}
"""Columns of the instance table; the task's own follow as meta_*."""

TOKEN_SCHEMA: Final[dict[str, Any]] = {
    "run_id": pl.String,
    "step": pl.Int64,
    "instance_id": pl.Int64,
    "knob": pl.Int64,
    "position": pl.Int32,
    "input_id": pl.Int32,
    "input_text": pl.String,
    "target_id": pl.Int32,
    "target_kind": pl.String,
    "predicted_id": pl.Int32,
    "correct": pl.Boolean,
    "exit_depth": pl.Int16,
    "executed": pl.Int16,
    "expected_depth": pl.Float32,
    "exit_probs": pl.List(pl.Float32),
    "margin": pl.Float32,
    "ce": pl.Float32,
    "change": pl.Float32,
    "lens": pl.List(pl.String),
}
"""Columns of the token table, one row an input position; probes follow as probe_*."""


class RecordFolder:
    """The folder of one evaluation.

    >>> import tempfile
    >>> folder = RecordFolder(Path(tempfile.mkdtemp()) / "final")
    >>> folder.open({"step": 0, "knobs": [3, 4]})
    >>> folder.missing([3, 4])
    [3, 4]
    """

    def __init__(self, path: Path) -> None:
        self.path = inside(path.parent, path.name)
        self._state = self._read()

    def open(self, asked: dict[str, Any]) -> None:
        """Start or go on with an evaluation; a folder that holds another one is refused. Nothing is written yet.

        A complete one that an older version wrote stands as it is.
        """
        if not self._state:
            self._state = {"records_version": RECORDS_VERSION, **asked, "complete": False, "files": {}}
            return
        version = self._state["records_version"]
        known = {name: value for name, value in self._state.items() if name not in ("complete", "files")}
        if known != {**asked, "records_version": version}:
            raise UserError(f"{self.path} holds another evaluation: remove it, or choose another --name")
        if version != RECORDS_VERSION and not self.is_complete():
            raise UserError(f"{self.path} was begun with records of version {version}: remove it")

    def is_complete(self) -> bool:
        """Say whether all knobs that were asked for are here."""
        return self._state.get("complete") is True

    def missing(self, knobs: list[int], subtask: str = "") -> list[int]:
        """Return the knobs that are still to be done."""
        return [knob for knob in knobs if not self._names(knob, subtask) <= self._state["files"].keys()]

    def write(self, knob: int, instances: pl.DataFrame, tokens: pl.DataFrame, subtask: str = "") -> None:
        """Store one knob; what analysis would refuse is not written."""
        for complaint in complaints(knob, instances, tokens):
            raise UserError(f"the model gives records that cannot be, knob {knob}: {complaint}")
        self.path.mkdir(parents=True, exist_ok=True)
        for kind, table in (("instances", instances), ("tokens", tokens)):
            write_file(self.path / _name(kind, knob, subtask), _parquet(table))
        self._state["files"] |= {name: facts_of(self.path / name) for name in sorted(self._names(knob, subtask))}
        write_sealed(self.path / ASKED, self._state)

    def read(self, knob: int, subtask: str = "") -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the instances and the tokens of one knob, as they were written."""
        instances, tokens = (self._checked(_name(kind, knob, subtask)) for kind in ("instances", "tokens"))
        check_files(self._state, knob, instances, tokens)
        return open_tables(instances).collect(), open_tables(tokens).collect()

    def close(self) -> None:
        """Mark the evaluation as complete."""
        if not self.is_complete():
            self._state["complete"] = True
            self.path.mkdir(parents=True, exist_ok=True)
            write_sealed(self.path / ASKED, self._state)

    def check(self, run_id: str) -> None:
        """Raise a UserError unless the evaluation is of this run, and its files are as they were written."""
        if self._state.get("run_id", run_id) != run_id:
            raise UserError(f"{self.path} has records of another run, {self._state['run_id']}: remove it")
        for name in self._state.get("files", ()):
            self._checked(name)

    def files(self) -> list[Path]:
        """Return all files of the evaluation, as they were written."""
        return [inside(self.path, ASKED), *(self._checked(name) for name in self._state["files"])]

    def _read(self) -> dict[str, Any]:
        try:
            state = read_sealed(inside(self.path, ASKED))
        except FileNotFoundError:
            return {}
        if not isinstance(state.get("files"), dict) or "records_version" not in state:
            raise UserError(f"{self.path / ASKED} does not list the records' files: remove {self.path}")
        return state

    def _checked(self, name: str) -> Path:
        try:
            return check_file(self.path, name, self._state["files"][name])
        except UserError as error:
            raise UserError(f"{error}; remove {self.path} to have it evaluated again") from error

    @staticmethod
    def _names(knob: int, subtask: str) -> set[str]:
        return {_name(kind, knob, subtask) for kind in ("instances", "tokens")}


def _name(kind: str, knob: int, subtask: str) -> str:
    return f"{kind}-{subtask}-k{knob:03d}.parquet" if subtask else f"{kind}-k{knob:03d}.parquet"


def _parquet(table: pl.DataFrame) -> bytes:
    # By way of memory: written to a file, polars says of a full disk only that something went wrong.
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    return buffer.getvalue()
