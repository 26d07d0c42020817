"""`anira runs [DIR]`: the runs in a folder, and how they stand."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from anira.cli.output import say, say_json
from anira.cli.parse import parse
from anira.config import UserError, layout

if TYPE_CHECKING:
    from anira.training import TrainConfig
    from anira.training.status import RunStatus

SUMMARY = "List the runs in a folder: how far they are, and the accuracy and depth of their last evaluation."


@dataclass(frozen=True, kw_only=True)
class Options:
    """Which runs."""

    folder: Annotated[Positional[Path], arg(metavar="DIR")] = Path("runs")
    """Folder of runs as `anira train --out` fills it, of one preset, or of one run."""
    json: bool = False
    """Print one JSON object per run."""


def run(argv: list[str]) -> None:
    """List the runs."""
    options = parse(Options, argv, prog="anira runs", description=SUMMARY)
    from anira.paper.runs import differs_from
    from anira.training.status import find_runs, run_status

    if not options.folder.is_dir():
        raise UserError(f"there is no folder {options.folder}: give the folder of your runs, as in anira runs results")
    found = [(path, config) for path, config in find_runs(options.folder) if not _only_records(path)]
    if not found:
        raise UserError(f"{options.folder} holds no runs")
    rows = []
    for path, config in found:
        if isinstance(config, UserError):
            rows.append([str(path), "", "damaged", "", "", "", str(config)])
            continue
        status = run_status(path)
        if options.json:
            say_json(_values(path, config, status))
        try:
            changes = differs_from(config.preset, config)
        except UserError:
            changes = ()  # a preset of a plug-in, or one that is no more
        rows.append([str(path), *cells(config, status), ", ".join(changes)])
    if not options.json:
        say(layout(["run", "seed", "state", "step", "left", "accuracy", "depth", "not as the preset"], rows))


def _only_records(path: Path) -> bool:
    """Say whether a folder has just the records that `anira reproduce` made of a published run."""
    from anira.training.status import run_status

    return (path / "records").is_dir() and run_status(path).state == "not begun"


def cells(config: "TrainConfig", status: "RunStatus") -> list[str]:
    """Write how a run stands: seed, state, step, time left, accuracy, depth."""
    left = status.remaining(config.steps) if status.state in ("running", "stopped") else None
    return [
        str(config.seed),
        status.state,
        f"{status.step} of {config.steps}",
        "" if left is None else duration(left),
        "" if status.accuracy is None else f"{status.accuracy:.3f}",
        "" if status.depth is None else f"{status.depth:.2f}",
    ]


def duration(seconds: float) -> str:
    """Write a time shortly.

    >>> duration(42), duration(400), duration(8000)
    ('42 s', '7 min', '2.2 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _values(path: Path, config: "TrainConfig", status: "RunStatus") -> dict[str, object]:
    return {
        "run": str(path),
        "preset": config.preset,
        "seed": config.seed,
        "state": status.state,
        "step": status.step,
        "steps": config.steps,
        "seconds_left": status.remaining(config.steps) if status.state in ("running", "stopped") else None,
        "accuracy": status.accuracy,
        "depth": status.depth,
    }
