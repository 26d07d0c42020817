"""What experiments left in a folder: the pages of claims and of all experiments are made from it."""

import json
from pathlib import Path
from typing import Any, Final

from anira.config import UserError

KEYS: Final = frozenset({"experiment", "scale", "runs", "claims"})
"""What the JSON of every experiment says."""


def read_stored(out: Path, name: str) -> dict[str, Any]:
    """Return the JSON of an experiment; nothing where it was not made."""
    path = out / f"{name}.json"
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text())
        if not isinstance(found, dict) or not found.keys() >= KEYS:
            raise ValueError(f"it must have {', '.join(sorted(KEYS))}")
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path}: {error}; make it again with anira reproduce {name}") from error
    return found


def forget(out: Path, name: str) -> None:
    """Remove JSON and page of an experiment that is made anew: one that fails must not seem to be made."""
    for path in (out / f"{name}.json", out / f"{name}.html"):
        path.unlink(missing_ok=True)
