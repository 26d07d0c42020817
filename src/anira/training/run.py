"""The folder of a run: who may write in it, and its metrics."""

import fcntl
import json
import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

from accelerate import PartialState
from accelerate.utils import parse_flag_from_env

from anira.config import UserError, config_hash, from_dict, json_text, to_dict
from anira.models import AniraForCausalLM
from anira.training.checkpoint import check_checkpoint, latest_checkpoint, step_of, without_bars
from anira.training.config import TrainConfig
from anira.training.trackers import Tracker


def process() -> PartialState:
    """Return which process of a run this is (`accelerate launch` starts several), and on which device."""
    return PartialState(cpu=parse_flag_from_env("ACCELERATE_USE_CPU"))


class RunFolder:
    """A run's folder, locked while the run writes in it: two runs never share one.

    Of the processes of a run only the main one holds the lock, and only it writes.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None

    @property
    def main(self) -> bool:
        """Whether this is the run's main process."""
        return bool(process().is_main_process)

    @staticmethod
    def for_config(root: Path, config: TrainConfig) -> "RunFolder":
        """Return the folder that a configuration determines: <preset>/<hash8>-s<seed>."""
        return RunFolder(root / config.preset / f"{config_hash(config)}-s{config.seed}")

    def __enter__(self) -> Self:
        if not self.main:
            return self
        self.path.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(self.path / ".lock", os.O_CREAT | os.O_RDWR)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise UserError(f"another process is training in {self.path}") from None
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def write_config(self, config: TrainConfig) -> None:
        """Store the resolved configuration with what the result depends on beside it; a run that is here stays.

        One that failed before its first result is no loss, and is started over.
        """
        if not self.main:
            return
        if any((self.path / name).exists() for name in ("metrics.jsonl", "records", "checkpoints")):
            raise UserError(f"{self.path} holds this very run: anira train --resume {self.path}, or another --seed")
        facts = {
            "config": to_dict(config),
            "versions": _versions(),
            "git": _git_hash(),
            "platform": platform.platform(),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        partial = self.path / "config.json.part"
        partial.write_text(json_text(facts, indent=2) + "\n")
        partial.replace(self.path / "config.json")

    def remove_unless_begun(self, new: Sequence[Path]) -> None:
        """Leave nothing of a run that failed before its first result, nor of the folders that were made for it."""
        if self.main and {path.name for path in self.path.iterdir()} <= {"config.json", ".lock"}:
            for path in self.path.iterdir():
                path.unlink()
            with suppress(OSError):  # another run may have come to be beside this one
                for path in new:
                    path.rmdir()

    def read_config(self) -> TrainConfig:
        """Return the configuration of the run that is here."""
        file = self.path / "config.json"
        try:
            return from_dict(TrainConfig, json.loads(file.read_text())["config"])
        except OSError as error:
            inside = len(list(self.path.glob("*/config.json")))
            if inside:
                raise UserError(f"{self.path} holds {inside} run{'s' * (inside > 1)}: give one of them") from error
            raise UserError(f"{self.path} is not a run: cannot read {file.name} ({error.strerror})") from error
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"{self.path} is not a run: cannot read {file.name} ({error})") from error


class MetricsFile:
    """metrics.jsonl, one JSON object a line; and whoever else wants the figures."""

    def __init__(self, path: Path, trackers: list[Tracker]) -> None:
        self.path, self.trackers = path, trackers

    def write(self, line: dict[str, Any]) -> None:
        """Append a line."""
        with self.path.open("a") as file:
            file.write(json_text(line) + "\n")
        for tracker in self.trackers:
            tracker.log(line)

    def flush(self) -> int:
        """Make sure that all lines are on disk; return how many bytes they are."""
        if not self.path.exists():
            return 0
        with self.path.open("r+") as file:
            os.fsync(file.fileno())
        return self.path.stat().st_size

    def truncate(self, size: int) -> None:
        """Forget what was written after a checkpoint: it will be written again."""
        there = self.path.stat().st_size if self.path.exists() else 0
        if there < size:
            raise UserError(f"{self.path} has lost lines: it has {there} bytes, and its checkpoint was made at {size}")
        if there:
            os.truncate(self.path, size)


def load_run(path: Path, step: int | None = None) -> tuple[TrainConfig, AniraForCausalLM, int]:
    """Return a run's configuration, its model at a step (the last one by default), and that step."""
    config = RunFolder(path).read_config()
    checkpoint = latest_checkpoint(path) if step is None else path / "checkpoints" / f"step-{step}"
    if checkpoint is None or not checkpoint.is_dir():
        kept = sorted(step_of(found) for found in (path / "checkpoints").glob("step-*"))
        raise UserError(f"{path} has no checkpoint{'' if step is None else f' of step {step}'}; kept: {kept or 'none'}")
    check_checkpoint(checkpoint)
    with without_bars():
        model: AniraForCausalLM = AniraForCausalLM.from_pretrained(checkpoint)
    for parameter in model.parameters():
        # In a mapped file weights lie at odd addresses, and matrix products depend on those in the last digit.
        parameter.data = parameter.data.clone()
    return config, model.eval(), step_of(checkpoint)


def keep_last(folder: Path, count: int) -> None:
    """Remove all but the newest checkpoints."""
    found = sorted((path for path in folder.glob("step-*") if path.is_dir()), key=step_of)
    for path in found[:-count]:
        shutil.rmtree(path, ignore_errors=True)


def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("anira", "torch", "transformers", "accelerate", "numpy", "polars")}


def _git_hash() -> str:
    here = Path(__file__).parent
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, check=False)
    except OSError:  # a machine without git
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
