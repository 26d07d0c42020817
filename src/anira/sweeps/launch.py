"""Runs as jobs: a command line for each, and how long what is left of them takes."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from anira.config import UserError, save
from anira.sweeps.executors import Job, make_executor
from anira.sweeps.plan import PlannedRun
from anira.sweeps.queue import Place, Queue, make_places
from anira.training.estimate import estimate
from anira.training.fitting import check_fits

WORK: Final = ".sweep"
"""Folder of logs and of what jobs are given, in the folder of runs."""
PER_THREAD: Final = 3e10
"""FLOP/s that one thread is taken to sustain at the sizes of the cpu presets (docs/results.md)."""


def places_of(runs: Sequence[PlannedRun], out: Path, plugins: Sequence[str] = ()) -> list[Place]:
    """Return runs as they stand in a folder of runs; what would stop one at its beginning is an error."""
    for run in runs:
        try:
            check_fits(run.config)
        except UserError as error:
            raise UserError(f"{run.label}: {error}") from error
    return make_places(runs, out, lambda run: make_job(out, run, plugins))


def make_queue(places: list[Place], out: Path, *, jobs: int, on: str, slurm: Mapping[str, Any]) -> Queue:
    """Return a queue that has all it needs to bring runs to their end."""
    executor = make_executor(on, (out / WORK).resolve(), slurm)
    for place in places:
        save(place.run.config, _file(out, place.run, "json"))
    return Queue(executor, jobs, places)


def make_job(out: Path, run: PlannedRun, plugins: Sequence[str] = ()) -> Job:
    """Return the command that trains a run."""
    words = (sys.executable, "-m", "anira.cli.job", str(_file(out, run, "json")), str(out.resolve()), *plugins)
    log, threads = _file(out, run, "log"), run.config.threads or 1
    return Job(name=run.id, words=words, log=log, folder=Path.cwd(), threads=threads)


def work_left(place: Place) -> tuple[float, float]:
    """Return the FLOPs and the seconds that a run still takes."""
    config, status = place.run.config, place.status
    if status.state == "finished":
        return 0.0, 0.0
    flops = estimate(config).flops * (1 - status.step / config.steps)
    known = status.remaining(config.steps)
    return flops, flops / (PER_THREAD * (config.threads or 1)) if known is None else known


def expected_seconds(runs: Sequence[PlannedRun]) -> float:
    """Return how long runs are expected to take on all cores of this machine."""
    return sum(estimate(run.config).flops for run in runs) / PER_THREAD / min(cores(), len(runs))


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _file(out: Path, run: PlannedRun, ending: str) -> Path:
    return (out / WORK).resolve() / f"{run.id.replace('/', '-')}.{ending}"
