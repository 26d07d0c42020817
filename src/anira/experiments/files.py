"""The files of an experiment: whole or not there."""

from pathlib import Path

from anira.analysis.records import read_asked
from anira.config import UserError


def is_complete(records: Path) -> bool:
    """Say whether a folder holds the records of a whole evaluation."""
    try:
        return bool(read_asked(records).get("complete"))
    except UserError:
        return False


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    partial = path.with_name(f".{path.name}.part")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
