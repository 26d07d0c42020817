"""Jobs of a Slurm cluster, through submitit; its machines must see the same files."""

import json
import math
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import submitit

from anira.config import UserError, json_text
from anira.config.files import write_file
from anira.sweeps.executors.base import Ending, Job, start_process, stop_process

_LOST = -9
_PATIENCE = 15.0  # seconds from one question to Slurm to the next


class SlurmExecutor:
    """Submits jobs as one array; a job at its time limit stops with a checkpoint and is queued again.

    `options` are submitit's parameters, such as slurm_partition or timeout_min. `cluster` is "slurm"; "local" runs the
    same code in processes of this machine, for tests.
    """

    leaves = True

    def __init__(self, folder: Path, cluster: str = "slurm", **options: Any) -> None:
        self.folder = folder / "slurm"
        try:
            # A run may need many time limits; the sweep gives up on one that makes no progress.
            limits = {"slurm_max_num_timeout": 10_000} if cluster == "slurm" else {}
            self.executor = submitit.AutoExecutor(self.folder, cluster=cluster, **limits)
            self.executor.update_parameters(name="anira", **options)
        except (RuntimeError, TypeError, ValueError, NameError) as error:
            raise UserError(f"Slurm cannot be used: {' '.join(str(error).split())}") from error

    def adopt(self, job: Job) -> "SlurmHandle | None":
        """Return the handle of a job that is still in Slurm's queue."""
        try:
            number = str(json.loads(self._note(job).read_text())["id"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        handle = SlurmHandle(self.executor.job_class(self.folder, number), new=False)
        return handle if handle.poll() is None else None

    def start(self, jobs: Sequence[Job]) -> list["SlurmHandle"]:
        """Submit jobs as an array, and note their numbers for a later sweep."""
        self.executor.update_parameters(cpus_per_task=max(job.threads for job in jobs))
        with self.executor.batch():
            found = [self.executor.submit(Requeued(job)) for job in jobs]
        for job, one in zip(jobs, found, strict=True):
            write_file(self._note(job), json_text({"id": one.job_id}))
        return [SlurmHandle(one, new=True) for one in found]

    def close(self) -> None:
        """Do nothing: Slurm has the jobs."""

    def _note(self, job: Job) -> Path:
        return self.folder / "jobs" / f"{job.name.replace('/', '-')}.json"


class Requeued:
    """A job as submitit calls it, again after each time limit."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self._child: Any = None

    def __call__(self) -> int:
        """Run it."""
        self._child = start_process(self.job)
        try:
            return int(self._child.wait())
        finally:
            stop_process(self._child)

    def checkpoint(self) -> submitit.helpers.DelayedSubmission:
        """Stop it with a checkpoint, and return what to queue at the time limit: the same again."""
        if self._child is not None:
            stop_process(self._child)
        return submitit.helpers.DelayedSubmission(Requeued(self.job))


class SlurmHandle:
    """A job of Slurm."""

    def __init__(self, job: Any, *, new: bool) -> None:
        self.job = job
        self._asked = time.monotonic() if new else -math.inf

    def poll(self) -> Ending | None:
        """Return how it ended."""
        if self.job.paths.result_pickle.exists():
            return Ending(_LOST if self.job.exception() is not None else int(self.job.result()))
        if time.monotonic() - self._asked < _PATIENCE:  # Slurm is not to be asked all the time
            return None
        self._asked = time.monotonic()
        return None if _is_queued(self.job.job_id) else Ending(_LOST)

    def stop(self) -> None:
        """Take it out of Slurm's queue."""
        self.job.cancel()


def _is_queued(number: str) -> bool:
    """Say whether a job waits or runs; what cannot be asked is taken to be there.

    submitit asks sacct, which needs a data base that small clusters do not have.
    """
    try:
        words = ["squeue", "--noheader", "--format=%T", "--jobs", number]
        found = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return True
    return bool(found.stdout.strip()) if found.returncode == 0 else "Invalid job id" not in found.stderr
