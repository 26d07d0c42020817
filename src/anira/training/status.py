"""How a run stands, read from its folder: no process needs to be asked."""

import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from anira.config import UserError
from anira.config.folder import inside, subfolders
from anira.training.checkpoint import latest_checkpoint, step_of
from anira.training.config import TrainConfig
from anira.training.run import RunFolder

State = Literal["not begun", "running", "stopped", "finished"]
_TAIL: Final = 1 << 17  # bytes: some hundred lines of metrics


@dataclass(frozen=True, kw_only=True)
class RunStatus:
    """One run as it stands now."""

    path: Path
    state: State
    step: int = 0
    """The last step of which something is written."""
    seconds: float | None = None
    """Of one step, when last measured."""
    accuracy: float | None = None
    """Of the last evaluation, the mean over subtasks and knobs."""
    depth: float | None = None
    """Of the answers in the last evaluation, the same mean."""

    def remaining(self, steps: int) -> float | None:
        """Return the seconds until a run of so many steps is trained, if its speed is known."""
        return None if self.seconds is None else self.seconds * (steps - self.step)


def run_status(path: Path) -> RunStatus:
    """Return how the run in a folder stands; a folder that is not there has not begun."""
    lines = _last_lines(path)
    if lines and lines[-1].get("kind") == "end":
        state: State = "finished"
    elif _is_locked(path):
        state = "running"
    elif lines or latest_checkpoint(path) is not None:
        state = "stopped"
    else:
        return RunStatus(path=path, state="not begun")
    trained = [line for line in lines if line.get("kind") == "train"]
    evaluated = [line for line in lines if line.get("kind") == "eval"]
    last = [line for line in evaluated if line.get("step") == evaluated[-1].get("step")]
    steps = [line["step"] for line in lines if isinstance(line.get("step"), int)]
    return RunStatus(
        path=path,
        state=state,
        step=max(steps, default=0),
        seconds=_number(trained[-1].get("seconds")) if trained else None,
        accuracy=_mean(last, "accuracy"),
        depth=_mean(last, "depth_answer"),
    )


def find_runs(root: Path) -> list[tuple[Path, TrainConfig | UserError]]:
    """Return the runs below a folder of all runs, of one preset, or of one run, each with its configuration.

    What has a configuration that cannot be read is listed with the reason.
    """
    if (root / "config.json").is_file():
        folders = [root]
    else:
        inner = subfolders(root)
        folders = [folder for one in inner for folder in [one, *subfolders(one)]]
    runs: list[tuple[Path, TrainConfig | UserError]] = []
    for folder in folders:
        if (folder / "config.json").is_file():
            try:
                runs.append((folder, RunFolder(folder).read_config()))
            except UserError as error:
                runs.append((folder, error))
    return runs


def last_step(path: Path) -> int:
    """Return the step of a run's newest checkpoint; 0 without one."""
    checkpoint = latest_checkpoint(path)
    return 0 if checkpoint is None else step_of(checkpoint)


def _last_lines(path: Path) -> list[dict[str, Any]]:
    """Return the last lines of a run's metrics; one that is being written, or is damaged, is left out."""
    file = inside(path, "metrics.jsonl")
    if not file.is_file():
        return []
    with file.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - _TAIL))
        tail = stream.read().splitlines()
    lines = []
    for line in tail[size > _TAIL :]:
        try:
            found = json.loads(line)
        except ValueError:
            continue
        lines += [found] if isinstance(found, dict) else []
    return lines


def _is_locked(path: Path) -> bool:
    """Say whether a process is training in a folder."""
    try:
        lock = os.open(path / ".lock", os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)
    return False


def _mean(lines: list[dict[str, Any]], name: str) -> float | None:
    values = [value for line in lines if (value := _number(line.get(name))) is not None]
    return sum(values) / len(values) if values else None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None
