"""The interface of executors: a job is a command line, which is started somewhere and comes to an end."""

import contextlib
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Protocol

from anira.config import UserError, how_to_install, nearest


@dataclass(frozen=True, kw_only=True)
class Job:
    """A command that trains one run to its end, from wherever it stands.

    It may be started again at any time. It stops by itself, with a checkpoint, when its standard input is closed: so
    it ends when whoever started it was killed.
    """

    name: str
    words: tuple[str, ...]
    log: Path
    """Gets what the command prints."""
    folder: Path
    """Where it is started."""
    threads: int = 1


@dataclass(frozen=True)
class Ending:
    """How a job ended."""

    status: int
    """Exit status of the command; negative where a signal or the loss of its machine ended it."""


class Handle(Protocol):
    """A job that was started."""

    def poll(self) -> Ending | None:
        """Return how the job ended, or None while it has not."""

    def stop(self) -> None:
        """Ask the job to stop with a checkpoint; `poll` says when it has."""


class Executor(Protocol):
    """Whoever starts jobs."""

    leaves: bool
    """Whether jobs go on when the sweep is interrupted: a cluster's queue keeps them."""

    def adopt(self, job: Job) -> Handle | None:
        """Return the handle of a job that an earlier sweep left here and that is not over, if there is one."""

    def start(self, jobs: Sequence[Job]) -> list[Handle]:
        """Start jobs; they belong together if the executor has a use for that."""

    def close(self) -> None:
        """Let go of what was taken; jobs are over, or go on by themselves."""


_MADE: Final = {
    "local": ("anira.sweeps.executors.local", "LocalExecutor", ""),
    "ray": ("anira.sweeps.executors.on_ray", "RayExecutor", "ray"),
    "slurm": ("anira.sweeps.executors.slurm", "SlurmExecutor", "submitit"),
}
"""Name -> (module, class, package that it needs)."""


def make_executor(name: str, folder: Path, options: Mapping[str, Any]) -> Executor:
    """Return an executor; one whose package is not installed is refused."""
    if name not in _MADE:
        raise UserError(f"unknown executor {name!r}: {nearest(name, _MADE)}")
    module, made, package = _MADE[name]
    if package and find_spec(package) is None:
        raise UserError(f"--on {name} needs {package}: {how_to_install('sweeps')}")
    executor: Executor = getattr(import_module(module), made)(folder, **options)
    return executor


def start_process(job: Job) -> "subprocess.Popen[bytes]":
    """Start a job's command as a child of this process; it ends with it."""
    job.log.parent.mkdir(parents=True, exist_ok=True)
    with job.log.open("ab") as log:
        return subprocess.Popen(
            job.words, cwd=job.folder, stdin=subprocess.PIPE, stdout=log, stderr=log, process_group=0
        )


def run_process(job: Job) -> int:
    """Run a job's command to its end and return its status; what interrupts this process stops the command first."""
    child = start_process(job)
    try:
        return child.wait()
    finally:
        stop_process(child)


def stop_process(child: "subprocess.Popen[bytes]") -> None:
    """Let a job's command stop with a checkpoint, and wait until it has.

    A signal handler may do this too, while the process waits for the same child: so `Popen.wait`, which has a lock, is
    not used.
    """
    assert child.stdin is not None
    child.stdin.close()  # twice does no harm
    with contextlib.suppress(ChildProcessError):  # it was waited for
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
