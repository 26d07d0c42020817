"""The queue of a sweep: starts what is ready, starts again what was lost, and says how everything stands.

All that it knows is in the folders of the runs, so it may be killed at any moment: called again, it goes on.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from anira.config import UserError
from anira.sweeps.executors import Executor, Handle, Job
from anira.sweeps.plan import PlannedRun
from anira.training.status import RunStatus, last_step, run_status

Standing = Literal["waiting", "ready", "running", "elsewhere", "stopped", "finished", "failed", "blocked"]
"""Of a run in a sweep. waiting: for runs before it; elsewhere: another process trains it; blocked: a run that it waits
for failed."""
LIVES: Final = 3
"""How often a run may be lost without a new checkpoint before it counts as failed."""
_WRONG: Final = (1, 2)  # exit statuses that another try would not change


@dataclass
class Place:
    """A run in the queue."""

    run: PlannedRun
    job: Job
    status: RunStatus
    standing: Standing = "waiting"
    handle: Handle | None = None
    reason: str = ""
    """Why it failed."""
    losses: int = 0
    """How often it was lost since its last new checkpoint."""
    kept: int = -1
    """Step of the checkpoint that it was started from."""


@dataclass
class Queue:
    """The runs of a plan on their way."""

    executor: Executor
    jobs: int
    places: list[Place] = field(default_factory=list)

    def work(
        self, *, seconds: float | None = None, show: Callable[[Sequence[Place]], None], pause: float = 0.5
    ) -> bool:
        """Bring all runs to their end, or as far as `seconds` allow; say whether nothing is left to do.

        Interrupted, it asks its runs to stop with a checkpoint and waits until they have, or leaves them where they
        go on by themselves.
        """
        ends = None if seconds is None else time.monotonic() + seconds
        try:
            self._adopt()
            while self._step() and (ends is None or time.monotonic() < ends):
                show(self.places)
                time.sleep(pause)
        finally:
            if not self.executor.leaves or (ends is not None and time.monotonic() >= ends):
                self._stop(pause)
            self.executor.close()
            self._look()
            show(self.places)
        return all(place.standing in ("finished", "failed", "blocked") for place in self.places)

    def _adopt(self) -> None:
        for place in self.places:
            if place.status.state != "finished":
                place.handle = self.executor.adopt(place.job)

    def _step(self) -> bool:
        """Look at everything once and start what can be started; say whether anything is left to wait for."""
        self._look()
        busy = sum(place.handle is not None for place in self.places)
        chosen = [place for place in self.places if place.standing in ("ready", "stopped")][: max(0, self.jobs - busy)]
        if chosen:
            for place in chosen:
                place.kept = last_step(place.status.path)
            for place, handle in zip(chosen, self.executor.start([one.job for one in chosen]), strict=True):
                place.handle, place.standing = handle, "running"
        return any(place.standing in ("ready", "stopped", "running", "elsewhere", "waiting") for place in self.places)

    def _look(self) -> None:
        for place in self.places:
            if place.standing in ("finished", "failed", "blocked"):
                continue
            ending = place.handle.poll() if place.handle is not None else None
            try:
                place.status = run_status(place.status.path)
            except UserError as error:
                place.standing, place.reason, place.handle = "failed", str(error), None
                continue
            if ending is not None:
                place.handle = None
                self._judge(place, ending.status)
            if place.standing != "failed":
                place.standing = self._standing(place)

    def _standing(self, place: Place) -> Standing:
        if place.handle is not None:
            return "running"
        if place.status.state == "finished":
            return "finished"
        if place.status.state == "running":
            return "elsewhere"
        before = [other for other in self.places if other.run.id in place.run.after]
        if any(other.standing in ("failed", "blocked") for other in before):
            return "blocked"
        if any(other.standing != "finished" for other in before):
            return "waiting"
        return "stopped" if place.status.state == "stopped" else "ready"

    def _judge(self, place: Place, status: int) -> None:
        """Decide what the end of a job means for its run."""
        if place.status.state == "finished":
            return
        place.losses = 1 if last_step(place.status.path) > place.kept else place.losses + 1
        if status in _WRONG or (status != 0 and place.losses >= LIVES):
            lost = "" if status in _WRONG else f"lost {place.losses} times in a row (status {status}); "
            place.standing, place.reason = "failed", f"{lost}{_last_words(place.job.log)}"
        elif status == 0:
            place.standing, place.reason = "failed", "its command ended well, but the run is not finished"

    def _stop(self, pause: float) -> None:
        for place in self.places:
            if place.handle is not None:
                place.handle.stop()
        while any(place.handle is not None and place.handle.poll() is None for place in self.places):
            time.sleep(min(pause, 0.1))
        for place in self.places:
            place.handle = None


def make_places(runs: Sequence[PlannedRun], out: Path, job: Callable[[PlannedRun], Job]) -> list[Place]:
    """Return the runs of a plan as they stand in a folder of runs."""
    return [Place(run=run, job=job(run), status=run_status(out / run.id)) for run in runs]


def _last_words(log: Path) -> str:
    """Return the last line that a job printed: the reason, if it was an error."""
    try:
        lines = log.read_text(errors="replace").split("\n")
    except OSError:
        return f"no log in {log}"
    said = [line.strip() for line in lines if line.strip()]
    return f"{said[-1].removeprefix('anira: ') if said else 'it said nothing'} (log: {log})"
