"""Jobs of a Slurm cluster, through submitit; its machines must see the same files."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import submitit

from anira.config import UserError, json_text
from anira.config.files import write_file
from anira.sweeps.executors.base import Ending, Job, start_process, stop_process

_LOST = -9
_OVER = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "BOOT_FAIL", "DEADLINE")


class SlurmExecutor:
    """Submits jobs as one array; a job at its time limit stops with a checkpoint and is queued again.

    `options` are submitit's parameters, such as slurm_partition or timeout_min. `cluster` is "slurm"; "local" runs the
    same code in processes of this machine, for tests.
    """

    leaves = True

    def __init__(self, folder: Path, cluster: str = "slurm", **options: Any) -> None:
        self.folder = folder / "slurm"
        try:
            self.executor = submitit.AutoExecutor(self.folder, cluster=cluster)
            self.executor.update_parameters(name="anira", **options)
        except (RuntimeError, TypeError, ValueError, NameError) as error:
            raise UserError(f"Slurm cannot be used: {' '.join(str(error).split())}") from error

    def adopt(self, job: Job) -> "SlurmHandle | None":
        """Return the handle of a job that is still in Slurm's queue."""
        try:
            number = str(json.loads(self._note(job).read_text())["id"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        handle = SlurmHandle(self.executor.job_class(self.folder, number))
        return handle if handle.poll() is None else None

    def start(self, jobs: Sequence[Job]) -> list["SlurmHandle"]:
        """Submit jobs as an array, and note their numbers for a later sweep."""
        self.executor.update_parameters(cpus_per_task=max(job.threads for job in jobs))
        with self.executor.batch():
            found = [self.executor.submit(Requeued(job)) for job in jobs]
        for job, one in zip(jobs, found, strict=True):
            write_file(self._note(job), json_text({"id": one.job_id}))
        return [SlurmHandle(one) for one in found]

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

    def __init__(self, job: Any) -> None:
        self.job = job

    def poll(self) -> Ending | None:
        """Return how it ended."""
        if self.job.done():
            return Ending(_LOST if self.job.exception() is not None else int(self.job.result()))
        return Ending(_LOST) if str(self.job.state).split()[0].rstrip("+") in _OVER else None

    def stop(self) -> None:
        """Take it out of Slurm's queue."""
        self.job.cancel()
