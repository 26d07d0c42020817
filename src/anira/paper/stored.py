"""What figures left in a folder: the page of claims and the index are made from it."""

from pathlib import Path
from typing import Any, Final

from anira.config import UserError
from anira.config.sealed import read_json

KEYS: Final = {"experiment": str, "scale": str, "runs": list, "claims": dict}
"""What the JSON of every figure says, and in which form."""


def read_stored(out: Path, name: str) -> dict[str, Any]:
    """Return the JSON of a figure; nothing where it was not made."""
    path = out / f"{name}.json"
    if not path.exists():
        return {}
    try:
        found = read_json(path)
        if not _is_whole(found):
            raise UserError(f"cannot read {path}: it must have {', '.join(sorted(KEYS))} of a figure")
    except UserError as error:
        raise UserError(f"{error}; make it again with anira reproduce {name}") from error
    return dict(found)


def _is_whole(found: Any) -> bool:
    if not isinstance(found, dict) or any(not isinstance(found.get(name), kind) for name, kind in KEYS.items()):
        return False
    runs = [(run.get("preset"), run.get("shrunk")) for run in found["runs"] if isinstance(run, dict)]
    whole = [isinstance(preset, str) and isinstance(shrunk, list) for preset, shrunk in runs]
    return sum(whole) == len(found["runs"]) and all(isinstance(one, list) for one in found["claims"].values())


def forget(out: Path, name: str) -> None:
    """Remove JSON and page of a figure that is made anew: one that fails must not seem to be made."""
    for path in (out / f"{name}.json", out / f"{name}.html"):
        path.unlink(missing_ok=True)
