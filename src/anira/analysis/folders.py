"""Which evaluation is meant: a run folder holds several under `records/`, one of them is the run's result."""

import json
from pathlib import Path
from typing import Any, Final

from anira.analysis.records import ASKED, read_asked
from anira.config import UserError, command, nearest

HOUSEKEEPING: Final = frozenset(
    {
        "preset",
        "seed",
        "variant",
        "max_length",
        "accumulation",
        "precision",
        "compile",
        "threads",
        "log_every",
        "eval_every",
        "eval_count",
        "final_count",
        "checkpoint_every",
    }
)
"""Keys of a run's configuration that do not change what is learned, or that are shown elsewhere."""


def find_evaluations(run: Path) -> list[Path]:
    """Return the evaluation folders of a run, the one to look at first standing last.

    Complete ones come after incomplete ones, plain ones after those with overridden depths, then later steps after
    earlier ones; at the same step `final` comes last.
    """
    folders = [path.parent for path in (run / "records").glob(f"*/{ASKED}")]
    return sorted(folders, key=_rank)


def choose_evaluation(path: Path, name: str | None = None) -> Path:
    """Return the evaluation folder that a user means by a path: itself, or one of the run's, by name or the best."""
    if not path.is_dir():
        raise UserError(f"{path} is no folder: give a run folder or one of its evaluations")
    if (path / ASKED).is_file():
        if name is not None:
            raise UserError(f"{path} is an evaluation already: leave out --evaluation, or give the run folder")
        return path
    found = find_evaluations(path)
    inside = len(list(path.glob("*/config.json")))
    if not found and inside and not (path / "config.json").exists():
        raise UserError(f"{path} holds {inside} run{'s' * (inside > 1)}: give one of them, or {path}/*")
    if not found:
        raise UserError(f"{path} has no evaluation under records/: run {command('anira', 'evaluate', path)} first")
    if name is None:
        return found[-1]
    names = [folder.name for folder in found]
    if name not in names:
        raise UserError(f"{path} has no evaluation {name!r}: {nearest(name, names)}")
    return path / "records" / name


def run_config(evaluation: Path) -> dict[str, Any]:
    """Return the `config` of the run that an evaluation folder lies in, or nothing if it lies in none."""
    path = evaluation.resolve().parents[1] / "config.json"
    try:
        config = json.loads(path.read_text()).get("config", {})
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError) as error:
        raise UserError(f"cannot read {path}: {error}") from error
    return config if isinstance(config, dict) else {}


def _rank(folder: Path) -> tuple[bool, bool, int, bool, str]:
    asked = read_asked(folder)
    step = asked.get("step")
    return (
        bool(asked.get("complete", False)),
        not asked.get("override"),
        step if isinstance(step, int) else -1,
        folder.name == "final",
        folder.name,
    )
