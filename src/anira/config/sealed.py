"""Files that say whether they are still what was written: each JSON file has its own check-sum, and those of others.

    evaluation.json   {"step": 500, ..., "files": {"tokens-k003.parquet": {"bytes": 52, "sha256": "9f..."}, ...},
                       "sha256": "3c..."}      the last one of all values before it
    metrics.jsonl     ends, once the run is finished, with {"kind": "end", "run_id": "...", "sha256": "77..."}, the last
                      one of all bytes before that line

This finds damage and mistakes. It is no signature: whoever means to deceive can write a file anew, check-sum included.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from anira.config.errors import UserError
from anira.config.files import write_file
from anira.config.folder import inside
from anira.config.strict import json_text, values_digest

SEAL: Final = "sha256"
LARGEST: Final = 64 << 20
"""Bytes of the largest JSON file that is read: what we write has thousands."""
DEEPEST: Final = 40
"""Levels of nesting that are read: what we write has six, and Python itself gives up at some hundreds."""


def write_sealed(path: Path, values: Mapping[str, Any]) -> None:
    """Write a JSON file with its check-sum."""
    write_file(path, json_text({**values, SEAL: values_digest(values)}, indent=2) + "\n")


def read_sealed(path: Path) -> dict[str, Any]:
    """Return the values of a JSON file with a check-sum; a UserError says what is wrong with it.

    A file that is not there is the caller's business: it knows what the file's absence means.
    """
    values = read_json(path)
    if not isinstance(values, dict):
        raise UserError(f"cannot read {path}: it must hold a table of keys and values")
    seal = values.pop(SEAL, None)
    if seal is None:
        raise UserError(f"cannot read {path}: it has no check-sum, so an older anira wrote it, or something else")
    if seal != values_digest(values):
        raise UserError(f"{path} is damaged: it has changed since it was written")
    return values


def read_json(path: Path) -> Any:
    """Return what a JSON file holds; a UserError says why it cannot be read."""
    try:
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise ValueError("it is not a file")
        if path.stat().st_size > LARGEST:
            raise ValueError(f"it has more than {LARGEST >> 20} MB")
        return parse_json(path.read_bytes())
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error


def parse_json(text: str | bytes) -> Any:
    """Return what a JSON text says; a ValueError says why it says nothing.

    >>> parse_json('{"loss": NaN}')
    Traceback (most recent call last):
    ValueError: NaN is not JSON
    """
    too_deep = ValueError(f"it is nested more than {DEEPEST} levels deep")
    try:
        value = json.loads(text, parse_constant=_refuse, object_pairs_hook=distinct)
    except RecursionError:
        raise too_deep from None
    json.dumps(value, ensure_ascii=False).encode()  # halves of characters are found here, not on a page
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [part for one in level for part in _parts(one)]
    if level:
        raise too_deep
    return value


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of a JSON object; which of two with one name is meant, nobody knows."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{name!r} is given twice")
        found[name] = value
    return found


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def digest(content: bytes) -> str:
    """Return the SHA-256 of some bytes."""
    return hashlib.sha256(content).hexdigest()


def facts_of(path: Path) -> dict[str, int | str]:
    """Return what is noted about a file: its size and its SHA-256."""
    with path.open("rb") as stream:
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(stream, "sha256").hexdigest()}


def check_file(folder: Path, name: str, facts: object) -> Path:
    """Return the path of a file in a folder if its content is as noted; a UserError says what is wrong."""
    path = inside(folder, name)
    if not path.is_file():
        raise UserError(f"{folder} is damaged: {name} is missing")
    if facts_of(path) != facts:
        raise UserError(f"{folder} is damaged: the content of {name} has changed")
    return path


def end_line(content: bytes, run: str) -> bytes:
    """Return the line that ends the finished metrics of a run.

    >>> end_line(b"...", "mano-fixed-cpu/1f2e3d4c-s0")[:66]
    b'{"kind": "end", "run_id": "mano-fixed-cpu/1f2e3d4c-s0", "sha256": '
    """
    return json_text({"kind": "end", "run_id": run, SEAL: digest(content)}).encode() + b"\n"
