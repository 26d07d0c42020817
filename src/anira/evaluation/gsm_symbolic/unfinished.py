"""What is done of a split that is not done: a part per batch, on the disk as soon as it is written.

    final/unfinished/asked.json                      what was asked, so that other parts are not mistaken for these
    final/unfinished/instances-k001-000064-8.parquet  eight questions of P1, from the 64th on
    final/unfinished/tokens-k001-000064-8.parquet     their tokens

An interrupt loses the batch that was being written, and nothing else. A split that is complete becomes records, and its
parts go.
"""

import io
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl

from anira.config import UserError, write_files
from anira.config.folder import inside
from anira.config.sealed import read_sealed, write_sealed
from anira.records.opening import open_tables

_FOLDER: Final = "unfinished"
_ASKED: Final = "asked.json"
_PART: Final = re.compile(r"instances-k(\d{3})-(\d{6})-(\d+)\.parquet")


class Unfinished:
    """The parts of an evaluation."""

    def __init__(self, folder: Path, asked: Mapping[str, Any]) -> None:
        self._path, self._asked = inside(folder, _FOLDER), dict(asked)
        try:
            before = read_sealed(inside(self._path, _ASKED))
        except FileNotFoundError:
            return
        if before != self._asked:
            raise UserError(f"{folder} holds parts of another evaluation: remove it, or choose another --out")

    def done(self, knob: int) -> set[int]:
        """Return the numbers of the questions of a split that are done."""
        return {number for start, count in self._parts(knob) for number in range(start, start + count)}

    def write(self, knob: int, start: int, instances: pl.DataFrame, tokens: pl.DataFrame) -> None:
        """Keep the batch that begins with question `start`."""
        if not (self._path / _ASKED).is_file():
            write_sealed(self._path / _ASKED, self._asked)
        tables = {"instances": instances, "tokens": tokens}
        write_files({self._file(kind, knob, start, len(instances)): _parquet(table) for kind, table in tables.items()})

    def gather(self, knob: int) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return all parts of a split as two tables, in the order of questions."""
        parts = sorted(self._parts(knob))
        instances, tokens = (
            open_tables(*(self._file(kind, knob, *part) for part in parts)).collect()
            for kind in ("instances", "tokens")
        )
        return instances, tokens

    def forget(self) -> None:
        """Remove all parts."""
        shutil.rmtree(self._path, ignore_errors=True)

    def _parts(self, knob: int) -> Iterator[tuple[int, int]]:
        """Yield where each part of a split begins and how many questions it has; half a part is none."""
        for path in self._path.glob(f"instances-k{knob:03d}-*.parquet"):
            found = _PART.fullmatch(path.name)
            if found and self._file("tokens", knob, int(found[2]), int(found[3])).is_file():
                yield int(found[2]), int(found[3])

    def _file(self, kind: str, knob: int, start: int, count: int) -> Path:
        return inside(self._path, f"{kind}-k{knob:03d}-{start:06d}-{count}.parquet")


def _parquet(table: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    return buffer.getvalue()
