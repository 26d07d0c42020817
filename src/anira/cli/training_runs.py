"""Training what a page is made from: says what it takes, asks where that is long, and does it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from anira.cli.output import tell
from anira.cli.runs import duration
from anira.cli.sweep import cores, sweep
from anira.cli.sweep_table import PER_THREAD
from anira.config import UserError

if TYPE_CHECKING:
    from anira.sweeps.plan import PlannedRun

ASKED: Final = 600.0
"""Seconds from which the user must agree."""
SHORT: Final = 60.0
"""Seconds from which a sweep is worth its processes."""


def train_missing(runs: Sequence["PlannedRun"], out: Path, *, yes: bool) -> None:
    """Train runs in a folder of runs: by a sweep, or one after the other where all of them take a minute."""
    if not runs:
        return
    seconds = expected_seconds(runs)
    names = ", ".join(dict.fromkeys(run.config.preset for run in runs))
    number = f"{len(runs)} run{'s' * (len(runs) > 1)}"
    tell(f"to be trained in {out}: {number} of {names} (about {duration(seconds)})")
    check_agreed(seconds, yes=yes)
    if seconds > SHORT:
        sweep(runs, out, jobs=cores())
        return
    from anira.cli.train import start_or_resume

    for run in runs:
        start_or_resume(run.config, out)


def expected_seconds(runs: Sequence["PlannedRun"]) -> float:
    """Return how long runs are expected to take on all cores of this machine."""
    from anira.training.estimate import estimate

    return sum(estimate(run.config).flops for run in runs) / PER_THREAD / min(cores(), len(runs))


def check_agreed(seconds: float, *, yes: bool) -> None:
    """Raise a UserError where training takes long and the user has not agreed."""
    if seconds > ASKED and not yes:
        raise UserError(f"training what is missing takes about {duration(seconds)} here: say --yes, or give --runs")
