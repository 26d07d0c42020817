"""Jobs as tasks of a Ray cluster; its machines must see the same files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ray

from anira.sweeps.executors.base import Ending, Job, run_process

_LOST = -9


class RayExecutor:
    """Gives each job to Ray as a task that takes as many CPUs as it has threads.

    Ray is found as its own documentation says: RAY_ADDRESS, else a cluster that was started on this machine, else one
    of this machine alone for as long as the sweep takes. A task whose worker or machine is lost is not retried by Ray:
    the sweep sees it, and starts the job again where it stood.
    """

    leaves = False

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._task: Any = ray.remote(max_retries=0)(_task)
        self._own = not ray.is_initialized()
        if self._own:
            ray.init(log_to_driver=False, configure_logging=False, include_dashboard=False)

    def adopt(self, job: Job) -> None:
        """Return nothing: tasks end with the sweep that started them."""

    def start(self, jobs: Sequence[Job]) -> list["RayHandle"]:
        """Give Ray a task for each job."""
        return [RayHandle(self._task.options(num_cpus=job.threads, name=job.name).remote(job)) for job in jobs]

    def close(self) -> None:
        """Part from the cluster."""
        if self._own:
            ray.shutdown()


def _task(job: Job) -> int:
    return run_process(job)


class RayHandle:
    """A task."""

    def __init__(self, task: Any) -> None:
        self.task = task

    def poll(self) -> Ending | None:
        """Return how it ended."""
        done, _ = ray.wait([self.task], timeout=0)
        if not done:
            return None
        try:
            return Ending(int(ray.get(self.task)))
        except (ray.exceptions.RayError, KeyboardInterrupt):
            return Ending(_LOST)

    def stop(self) -> None:
        """Interrupt it: its worker then closes the job's standard input, and the job stops with a checkpoint."""
        ray.cancel(self.task)
