"""What a run's folder says about itself: which evaluations it holds, of which run, and whether that run is finished.

Nothing here is believed further than it can be checked: each file has its check-sum, and an evaluation belongs to the
run whose configuration lies beside it, or is refused.
"""

from pathlib import Path
from typing import Any, Final

from anira.config import UserError
from anira.config.folder import inside
from anira.config.sealed import read_sealed
from anira.config.strict import run_id
from anira.records import ASKED

CONFIG: Final = "config.json"
_KINDS: Final = {"records_version": int, "run_id": str, "step": int, "n": int, "complete": bool, "files": dict}


def read_asked(folder: Path) -> dict[str, Any]:
    """Return the contents of an evaluation.json."""
    path = inside(folder, ASKED)
    try:
        asked = read_sealed(path)
    except FileNotFoundError:
        raise UserError(f"{folder} is no evaluation folder: it has no {ASKED}") from None
    for name, kind in _KINDS.items():
        if type(asked.get(name)) is not kind:
            raise UserError(f"cannot read {path}: {name} must be {kind.__name__}, not {asked.get(name)!r}")
    knobs = asked.get("knobs")
    lists = list(knobs.values()) if isinstance(knobs, dict) else [knobs]
    if not lists or not all(isinstance(one, list) and all(type(knob) is int for knob in one) for one in lists):
        raise UserError(f"cannot read {path}: knobs must be numbers, not {knobs!r}")
    return asked


def run_config(evaluation: Path) -> dict[str, Any]:
    """Return the `config` of the run that an evaluation folder lies in, or nothing if it lies in none.

    Records of another run are refused.
    """
    records = evaluation.resolve().parent
    try:
        config = read_config(records.parent)
    except FileNotFoundError:
        return {}
    made_by = read_asked(evaluation)["run_id"]
    if made_by != run_id(config):
        raise UserError(
            f"{evaluation} has records of another run: of {made_by}, and {CONFIG} is that of {run_id(config)}"
        )
    return config


def read_config(run: Path) -> dict[str, Any]:
    """Return the configuration in a run's folder, as plain values."""
    config = read_stored(run)["config"]
    assert isinstance(config, dict)
    return config


def read_stored(run: Path) -> dict[str, Any]:
    """Return all that a run's config.json says: the configuration, and what the result depends on beside it."""
    path = inside(run, CONFIG)
    stored = read_sealed(path)
    if not isinstance(stored.get("config"), dict):
        raise UserError(f"cannot read {path}: it must hold a configuration")
    return stored


def is_finished(run: Path) -> bool:
    """Say whether a run came to its last step and to the evaluation after it."""
    final = inside(run, "records", "final")
    if not (final / ASKED).exists():
        return False
    asked, config = read_asked(final), run_config(final)
    return bool(asked["complete"] and asked["step"] == config.get("steps"))
