"""Rows out of the files in which CLRS-Text is found: Parquet, Arrow (Hugging Face's `save_to_disk`), jsonl, JSON.

The files are other people's: whatever they hold, reading them takes a bounded part of memory, stays in the folder that
was named, and ends in rows or in a UserError.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from anira.config import UserError
from anira.config.folder import check_name
from anira.config.sealed import read_json
from anira.exchange.json_rows import LONGEST, read_document, read_lines
from anira.exchange.tables import read_table

Numbered = Iterator[tuple[Path, int, Any]]
"""(file, row counted from 1, content): a row's fields, a line of JSON that is still to be decoded, or a UserError."""

_DATASET_STATE: Final = "state.json"  # lists the Arrow files of a folder that `save_to_disk` made
_NOT_DATA: Final = {_DATASET_STATE, "dataset_info.json", "dataset_dict.json"}


def find_files(path: Path) -> list[Path]:
    """Return the files to read: the one that is named, or those in a folder and the folders in it, sorted by name."""
    if not path.exists():
        raise UserError(f"{path} does not exist")
    files = _data_files(path) if path.is_dir() else [path]
    for file in files:
        if file.suffix not in _READERS:
            raise UserError(f"{file}: cannot read {file.suffix or 'a file without a suffix'}; {_KNOWN}")
        if not file.is_file():
            raise UserError(f"{file}: {'not an ordinary file' if file.exists() else 'there is no such file'}")
    return files


def read_rows(files: Sequence[Path], columns: Sequence[str]) -> Numbered:
    """Yield the rows of all files; of tables only these columns."""
    for file in files:
        for number, content in enumerate(_READERS[file.suffix](file, columns), 1):
            if not isinstance(content, str) or content.strip():
                yield file, number, content


def _data_files(folder: Path) -> list[Path]:
    """Return what a folder holds; what is hidden is no data."""
    seen = [file for file in sorted(folder.rglob("*")) if not _is_hidden(file.relative_to(folder))]
    states = {file.parent: _arrow_files(file) for file in seen if file.name == _DATASET_STATE}
    others = [
        file
        for file in seen
        if file.suffix in _READERS and file.name not in _NOT_DATA and file.parent not in states and not file.is_dir()
    ]
    files = sorted([*others, *(file for found in states.values() for file in found)])
    if not files:
        raise UserError(f"{folder} holds nothing to read; {_KNOWN}")
    return files


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _arrow_files(state: Path) -> list[Path]:
    """Return the files of a dataset folder; one that selects among its rows is refused."""
    facts = read_json(state)
    if not isinstance(facts, dict):
        raise UserError(f"{state}: this is not what save_to_disk writes: it must be an object")
    if facts.get("_indices_files") or facts.get("_indices_data_files"):
        raise UserError(f"{state.parent}: the dataset is a selection of its rows; save it after flatten_indices()")
    match facts.get("_data_files"):
        case [*entries] if all(isinstance(entry, dict) and isinstance(entry.get("filename"), str) for entry in entries):
            names = [entry["filename"] for entry in entries]
        case _:
            raise UserError(f"{state}: this is not what save_to_disk writes: _data_files is missing or names no files")
    try:
        for name in names:
            check_name(name)
    except UserError as error:
        raise UserError(f"{state}: {error}") from None
    if len(set(names)) < len(names):
        raise UserError(f"{state}: names a file twice")
    return [state.parent / name for name in names]


_READERS: Final[dict[str, Callable[[Path, Sequence[str]], Iterator[Any]]]] = {
    ".parquet": lambda file, columns: read_table(file, "Parquet", longest=LONGEST, columns=columns),
    ".arrow": lambda file, columns: read_table(file, "Arrow", longest=LONGEST, columns=columns),
    ".jsonl": lambda file, columns: read_lines(file),
    ".json": lambda file, columns: read_document(file),
}
_KNOWN: Final = f"known are {', '.join(_READERS)} and folders of them, also those that save_to_disk writes"
