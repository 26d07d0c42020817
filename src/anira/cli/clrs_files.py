"""Rows out of the files in which CLRS-Text is found: Parquet, Arrow (Hugging Face's `save_to_disk`), jsonl, JSON."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from anira.config import UserError

Numbered = Iterator[tuple[Path, int, Any]]
"""(file, row counted from 1, content): a row's fields, or the line of a jsonl file, still to be decoded."""

_CHUNK: Final = 8192  # rows of a Parquet file in memory at a time
_DATASET_STATE: Final = "state.json"  # lists the Arrow files of a folder that `save_to_disk` made
_NOT_DATA: Final = {_DATASET_STATE, "dataset_info.json", "dataset_dict.json"}


def read_rows(path: Path) -> Numbered:
    """Yield the rows of a file, or of all files in a folder and the folders in it, in the order of their names."""
    if not path.exists():
        raise UserError(f"{path} does not exist")
    for file in [path] if path.is_file() else _data_files(path):
        if file.suffix not in _READERS:
            raise UserError(f"{file}: cannot read {file.suffix or 'a file without a suffix'}; {_KNOWN}")
        for number, content in enumerate(_READERS[file.suffix](file), 1):
            if content != "\n":
                yield file, number, content


def _data_files(folder: Path) -> list[Path]:
    states = {state.parent: _arrow_files(state) for state in sorted(folder.rglob(_DATASET_STATE))}
    others = [
        file
        for file in sorted(folder.rglob("*"))
        if file.suffix in _READERS and file.name not in _NOT_DATA and file.parent not in states
    ]
    files = sorted([*others, *(file for found in states.values() for file in found)])
    if not files:
        raise UserError(f"{folder} holds nothing to read; {_KNOWN}")
    return files


def _arrow_files(state: Path) -> list[Path]:
    """Return the files of a dataset folder; one that selects among its rows is refused."""
    facts = _json(state, state.read_text())
    if not isinstance(facts, dict) or "_data_files" not in facts:
        raise UserError(f"{state}: this is not what save_to_disk writes: _data_files is missing")
    if facts.get("_indices_files") or facts.get("_indices_data_files"):
        raise UserError(f"{state.parent}: the dataset is a selection of its rows; save it after flatten_indices()")
    return [state.parent / entry["filename"] for entry in facts["_data_files"]]


def _parquet(file: Path) -> Iterator[dict[str, Any]]:
    import polars as pl

    frame = pl.scan_parquet(file)
    start = 0
    while True:
        chunk = _read(file, "Parquet", frame.slice(start, _CHUNK).collect)
        yield from chunk.iter_rows(named=True)
        start += _CHUNK
        if len(chunk) < _CHUNK:
            return


def _arrow(file: Path) -> Iterator[dict[str, Any]]:
    import polars as pl

    yield from _read(file, "Arrow", lambda: pl.read_ipc_stream(file)).iter_rows(named=True)


def _read(file: Path, form: str, read: Callable[[], Any]) -> Any:
    import polars as pl

    try:
        return read()
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{file}: cannot be read as {form}: {reason}") from error


def _jsonl(file: Path) -> Iterator[str]:
    try:
        with file.open(encoding="utf-8") as lines:
            yield from lines
    except UnicodeDecodeError as error:
        raise UserError(f"{file}: cannot be read as text: {error.reason}") from error


def _json_file(file: Path) -> Iterator[Any]:
    """Yield the examples of a file of upstream's script, or of a list; some write lines under this name."""
    try:
        whole = json.loads("".join(_jsonl(file)))
    except json.JSONDecodeError:
        yield from _jsonl(file)
        return
    rows = whole.get("examples", [whole]) if isinstance(whole, dict) else whole
    if not isinstance(rows, list):
        raise UserError(f"{file}: neither a list of rows nor an object with a list of examples")
    yield from rows


def _json(file: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise UserError(f"{file}: not JSON: {error}") from None


_READERS: Final[dict[str, Callable[[Path], Iterator[Any]]]] = {
    ".parquet": _parquet,
    ".arrow": _arrow,
    ".jsonl": _jsonl,
    ".json": _json_file,
}
_KNOWN: Final = f"known are {', '.join(_READERS)} and folders of them, also those that save_to_disk writes"
