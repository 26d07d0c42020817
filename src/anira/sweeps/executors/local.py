"""Jobs as processes of this machine."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from anira.sweeps.executors.base import Ending, Job, start_process


class LocalExecutor:
    """Starts a process for each job; they end with this one, however it ends."""

    leaves = False

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def adopt(self, job: Job) -> None:
        """Return nothing: processes end with the sweep that started them."""

    def start(self, jobs: Sequence[Job]) -> list["ProcessHandle"]:
        """Start a process for each job."""
        return [ProcessHandle(start_process(job)) for job in jobs]

    def close(self) -> None:
        """Do nothing: there is nothing to let go of."""


class ProcessHandle:
    """A process."""

    def __init__(self, child: "subprocess.Popen[bytes]") -> None:
        self.child = child

    def poll(self) -> Ending | None:
        """Return how it ended."""
        status = self.child.poll()
        if status is None:
            return None
        assert self.child.stdin is not None
        self.child.stdin.close()
        return Ending(status)

    def stop(self) -> None:
        """Ask it to stop."""
        if self.child.poll() is None:
            self.child.terminate()
