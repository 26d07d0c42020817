"""Records: per-instance and per-token tables in Parquet, the only thing that analysis reads.

An evaluation is a folder with two files a knob (of a task that is several in one: a subtask and knob), each written
under another name first, so that an interrupt leaves whole files only and the next call goes on where this one
stopped.
"""

import io
import json
import os
from pathlib import Path
from typing import Any, Final

import polars as pl

from anira.config import UserError, json_text

RECORDS_VERSION: Final = 2
"""2 has the token column `ce`; analysis still reads 1."""

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
        self.path = path

    def open(self, asked: dict[str, Any]) -> None:
        """Start or go on with an evaluation; a folder that holds another one is refused.

        A complete one that an older version wrote stands as it is.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        facts = {"records_version": RECORDS_VERSION, **asked}
        file = self.path / "evaluation.json"
        if file.exists():
            known = json.loads(file.read_text())
            complete, version = known.pop("complete", False), known.get("records_version")
            if {**known, "records_version": RECORDS_VERSION} != facts:
                raise UserError(f"{self.path} holds another evaluation: remove it, or choose another --name")
            if version != RECORDS_VERSION and not complete:
                raise UserError(f"{self.path} was begun with records of version {version}: remove it")
            facts = known
        _write(file, _json({**facts, "complete": False}))

    def missing(self, knobs: list[int], subtask: str = "") -> list[int]:
        """Return the knobs that are still to be done."""
        return [knob for knob in knobs if not (self._file("instances", knob, subtask)).exists()]

    def write(self, knob: int, instances: pl.DataFrame, tokens: pl.DataFrame, subtask: str = "") -> None:
        """Store one knob; the instances come last and mark it as done."""
        for kind, table in (("tokens", tokens), ("instances", instances)):
            _write(self._file(kind, knob, subtask), _parquet(table))

    def read(self, knob: int, subtask: str = "") -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the instances and the tokens of one knob."""
        instances, tokens = (pl.read_parquet(self._file(kind, knob, subtask)) for kind in ("instances", "tokens"))
        return instances, tokens

    def close(self) -> None:
        """Mark the evaluation as complete."""
        file = self.path / "evaluation.json"
        _write(file, _json({**json.loads(file.read_text()), "complete": True}))

    def _file(self, kind: str, knob: int, subtask: str) -> Path:
        name = f"{kind}-{subtask}" if subtask else kind
        return self.path / f"{name}-k{knob:03d}.parquet"


def _parquet(table: pl.DataFrame) -> bytes:
    # By way of memory: written to a file, polars says of a full disk only that something went wrong.
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    return buffer.getvalue()


def _json(facts: dict[str, Any]) -> bytes:
    return (json_text(facts, indent=2) + "\n").encode()


def _write(path: Path, content: bytes) -> None:
    partial = path.with_suffix(".part")
    try:
        partial.write_bytes(content)
        os.replace(partial, path)  # noqa: PTH105 (the atomic one)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise UserError(f"cannot write {path}: {error.strerror}") from error
