"""Which evaluation is meant: a run folder holds several under `records/`, one of them is the run's result."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from anira.config import UserError, command, nearest
from anira.config.folder import inside, subfolders
from anira.measure.records.stored import CONFIG, read_asked
from anira.records import ASKED
from anira.records.overrides import forced_depth

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


def learned(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a run's configuration that decides what is learned, the seed aside.

    >>> learned({"steps": 20, "seed": 1, "threads": 2})
    {'steps': 20}
    """
    return {name: value for name, value in config.items() if name not in HOUSEKEEPING}


def find_evaluations(run: Path) -> list[Path]:
    """Return the evaluation folders of a run, the one to look at first standing last.

    Complete ones come after incomplete ones, plain ones after those with overridden depths, then later steps after
    earlier ones; at the same step `final` comes last.
    """
    return sorted((path for path in subfolders(inside(run, "records")) if (path / ASKED).exists()), key=_rank)


def choose_evaluation(path: Path, name: str | None = None) -> Path:
    """Return the evaluation folder that a user means by a path: itself, or one of the run's, by name or the best."""
    if not path.is_dir():
        raise UserError(f"{path} is no folder: give a run folder or one of its evaluations")
    if (path / ASKED).is_file():
        if name is not None:
            raise UserError(f"{path} is an evaluation already: leave out --evaluation, or give the run folder")
        return path
    found = find_evaluations(path)
    runs = len(list(path.glob(f"*/{CONFIG}")))
    if not found and runs and not (path / CONFIG).exists():
        raise UserError(f"{path} holds {runs} run{'s' * (runs > 1)}: give one of them, or {path}/*")
    if not found:
        raise UserError(f"{path} has no evaluation under records/: run {command('anira', 'evaluate', path)} first")
    if name is None:
        return found[-1]
    names = [folder.name for folder in found]
    if name not in names:
        raise UserError(f"{path} has no evaluation {name!r}: {nearest(name, names)}")
    return path / "records" / name


def forced_beside(evaluation: Path) -> list[Path]:
    """Return the complete evaluations of the same run and step with every token forced to one depth."""
    wanted = read_asked(evaluation)
    if evaluation.resolve().parent.name != "records":
        return []
    found = []
    for folder in find_evaluations(evaluation.resolve().parent.parent):
        asked = read_asked(folder)
        forced = forced_depth(str(asked.get("override", ""))) is not None
        same = all(asked[name] == wanted[name] for name in ("run_id", "step"))
        if forced and same and asked["complete"] and folder.name != evaluation.name:
            found.append(folder)
    return found


def _rank(folder: Path) -> tuple[bool, bool, int, bool, str]:
    asked = read_asked(folder)
    return (asked["complete"], not asked.get("override"), asked["step"], folder.name == "final", folder.name)
