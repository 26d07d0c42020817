"""The folder of a run: who may write in it, and its metrics."""

import atexit
import fcntl
import os
import platform
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Self

import torch
from accelerate import PartialState
from accelerate.utils import parse_flag_from_env
from huggingface_hub.errors import StrictDataclassError

from anira.config import UserError, command, config_hash, from_dict, json_text
from anira.config.files import remove_parts, write_file
from anira.config.folder import inside
from anira.config.sealed import digest, end_line, read_sealed, write_sealed
from anira.config.strict import run_id, stored_values
from anira.models import AniraConfig, AniraForCausalLM
from anira.models.policies import policy_class
from anira.tasks import make_task
from anira.training.checkpoint import CHECKPOINTS, choose_checkpoint, step_of, weight_files
from anira.training.config import TrainConfig
from anira.training.lora import add_adapters, merge_adapters
from anira.training.trackers import Tracker
from anira.training.weights import check_fit, load_weights

_OWN: Final = ("config.json", "metrics.jsonl", "records", CHECKPOINTS)
"""What a run writes in its folder; all but the first is a result."""
_FOLDERS: Final = _OWN[2:]
_TRIES, _PAUSE = 5, 0.05  # seconds


def process() -> PartialState:
    """Return which process of a run this is (`accelerate launch` starts several), and on which device."""
    return PartialState(cpu=parse_flag_from_env("ACCELERATE_USE_CPU"))


def leave() -> None:
    """Part from the other processes of a run, all at the same moment and at the very end of a process.

    Taking the connections apart is left out: gloo sometimes aborts a process that does so, or that ends in the usual
    way, after all its work is done.
    """
    if torch.distributed.is_initialized():
        torch.distributed.barrier()
        atexit.register(_end)


def _end() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # nobody listens any more
            stream.flush()
    os._exit(0)


class RunFolder:
    """A run's folder, locked while the run writes in it: two runs never share one.

    Of the processes of a run only the main one holds the lock, and only it writes.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock: int | None = None

    @property
    def main(self) -> bool:
        """Whether this is the run's main process."""
        return bool(process().is_main_process)

    @staticmethod
    def for_config(root: str | Path, config: TrainConfig) -> "RunFolder":
        """Return the folder that a configuration determines: <preset>/<hash8>-s<seed>."""
        return RunFolder(Path(root) / run_id(stored_values(config)))

    def __enter__(self) -> Self:
        if not self.main:
            return self
        self.path.mkdir(parents=True, exist_ok=True)
        for name in _OWN:
            path = inside(self.path, name)
            if path.exists() and path.is_dir() != (name in _FOLDERS):
                raise UserError(f"{path} must be a {'folder' if name in _FOLDERS else 'file'}: move it away")
        self._lock = os.open(self.path / ".lock", os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW)
        if not _locked(self._lock):
            os.close(self._lock)
            raise UserError(f"another process is training in {self.path}")
        for folder in (self.path, self.path / CHECKPOINTS):
            remove_parts(folder)  # of a process that was killed: whoever has the lock is alone here
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
        if any((self.path / name).exists() for name in _OWN[1:]):
            resume = command("anira", "train", "--resume", self.path)
            raise UserError(f"{self.path} holds this very run: {resume}, or another --seed")
        facts = {
            "config": stored_values(config),
            "versions": _versions(),
            "git": _git_hash(),
            "platform": platform.platform(),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "plugins": _plugins(config),
        }
        write_sealed(self.path / _OWN[0], facts)

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
        missing: list[str] = []
        try:
            facts = read_sealed(inside(self.path, "config.json"))
            missing = [name for name in facts.get("plugins", ()) if name not in sys.modules]
            config = from_dict(TrainConfig, facts["config"])
            config.resolved()  # a task or a model that cannot be made is found here
            return config
        except FileNotFoundError as error:
            runs = len(list(self.path.glob("*/config.json")))
            if runs:
                raise UserError(f"{self.path} holds {runs} run{'s' * (runs > 1)}: give one of them") from error
            raise UserError(f"{self.path} is not a run: it has no config.json") from error
        except UserError as error:
            if missing:  # never imported by itself: what a run folder names is not to be executed
                raise UserError(
                    f"{self.path} was made with the plug-in {missing[0]!r}: add --plugin {missing[0]}"
                ) from error
            raise UserError(f"{self.path} is not a run: {error}") from error
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, StrictDataclassError) as error:
            why = " ".join(str(error).split())
            raise UserError(f"{self.path} is not a run: config.json holds what cannot be ({why})") from error


def _locked(lock: int) -> bool:
    """Take a lock, trying again for a moment: whoever looks how a run stands holds it too, for an instant."""
    for _ in range(_TRIES):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(_PAUSE)
        else:
            return True
    return False


class MetricsFile:
    """metrics.jsonl, one JSON object per line, and whoever else wants the metrics."""

    def __init__(self, path: Path, trackers: list[Tracker]) -> None:
        self.path, self.trackers = path, trackers
        self._kept: int | None = None

    def write(self, line: dict[str, Any]) -> None:
        """Append a line."""
        self._append(json_text(line).encode() + b"\n")
        for tracker in self.trackers:
            tracker.log(line)

    def state(self) -> dict[str, Any]:
        """Make sure that all lines are on disk; return what a checkpoint notes of them."""
        self._append(b"")
        with self.path.open("rb+") as file:
            os.fsync(file.fileno())
        content = self._content()
        return {"metrics_bytes": len(content), "metrics_sha256": digest(content)}

    def rewind(self, state: Mapping[str, Any]) -> None:
        """Forget what was written after a checkpoint, which noted this state: it will be written again.

        It is forgotten when the first line is written: a run that cannot go on stays as it is.
        """
        size, content = state.get("metrics_bytes", -1), self._content()
        if len(content) < size:
            there = f"it has {len(content)} bytes, and its checkpoint was made at {size}"
            raise UserError(f"{self.path} has lost lines: {there}")
        if digest(content[:size]) != state.get("metrics_sha256"):
            raise UserError(f"{self.path} is damaged: lines that were there before its checkpoint have changed")
        self._kept = size

    def finish(self, run: str) -> None:
        """Write the last line: whose lines they are, and the check-sum of those before."""
        self._append(b"")
        self._append(end_line(self._content(), run))

    def _append(self, line: bytes) -> None:
        if self._kept is not None:
            write_file(self.path, self._content()[: self._kept])
            self._kept = None
        with self.path.open("ab") as file:
            file.write(line)

    def _content(self) -> bytes:
        return self.path.read_bytes() if self.path.is_file() else b""


NO_METRICS: Final[dict[str, Any]] = {"metrics_bytes": 0, "metrics_sha256": digest(b"")}
"""The state of a run that has not begun."""


def load_run(path: str | Path, step: int | None = None) -> tuple[TrainConfig, AniraForCausalLM, int]:
    """Return a run's configuration, its model at a step (the last one by default), and that step.

    The model is built from the configuration and gets exactly the tensors of a checkpoint of this very run.
    """
    folder = RunFolder(path)
    config = folder.read_config()
    checkpoint = choose_checkpoint(folder.path, config_hash(config), step)
    model_config, files = config.model_config(), weight_files(checkpoint)
    with torch.device("meta"):  # a model of any size costs nothing here
        check_fit(files, _built(model_config, config))
    with torch.random.fork_rng(devices=[]):
        model = _built(model_config, config)
    load_weights(files, model)
    return config, merge_adapters(model).eval(), step_of(checkpoint)


def _built(shape: AniraConfig, config: TrainConfig) -> AniraForCausalLM:
    """Return a model with parameters as training has them: bfloat16 is a matter of computing only."""
    model = AniraForCausalLM(shape)
    return add_adapters(model.double() if config.precision == "float64" else model, config.lora)


def _plugins(config: TrainConfig) -> list[str]:
    """Return the modules outside the package that the task or the policy comes from."""
    classes: list[type] = [policy_class(config.model["policy"]["name"])]
    if config.text is None:
        classes.append(type(make_task(config.task, config.task_config)))
    return sorted({cls.__module__ for cls in classes if not cls.__module__.startswith("anira.")})


_version = cache(version)  # parses all that a package says of itself


def _versions() -> dict[str, str]:
    return {name: _version(name) for name in ("anira", "torch", "transformers", "accelerate", "numpy", "polars")}


def _git_hash() -> str:
    here = Path(__file__).parent
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, check=False)
    except OSError:  # a machine without git
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
