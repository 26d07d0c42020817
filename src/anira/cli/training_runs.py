"""Training what a page is made from: says what it takes, asks where that is long, and does it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from tyro.conf import arg

from anira.cli.output import tell
from anira.cli.runs import duration
from anira.cli.sweep import sweep
from anira.config import UserError

if TYPE_CHECKING:
    from anira.paper.setting import Setting
    from anira.sweeps.plan import PlannedRun

ASKED: Final = 600.0
"""Seconds from which the user must agree."""
SHORT: Final = 60.0
"""Seconds from which a sweep is worth its processes."""


@dataclass(frozen=True, kw_only=True)
class RunsOptions:
    """Where runs are, and whether long training is welcome."""

    runs: Annotated[Path | None, arg(metavar="DIR", help_behavior_hint="(default: runs/ in --out)")] = None
    """Folder of runs as `anira train --out` fills it: finished ones are used as they are, after those in results/ where
    the working directory has it; what is missing is trained here."""
    yes: bool = False
    """Train what is missing, even where that takes more than ten minutes."""


def make_setting(options: RunsOptions, scale: str, out: Path) -> "Setting":
    """Return what a figure is made from."""
    from anira.cli.train import train_preset
    from anira.paper.setting import Setting

    runs = options.runs or out / "runs"
    return Setting(scale=scale, out=out, runs=runs, published=(Path("results"),), train=train_preset, tell=tell)


def train_missing(runs: Sequence["PlannedRun"], out: Path, *, yes: bool) -> None:
    """Train runs in a folder of runs: by a sweep, or one after the other where all of them take a minute."""
    if not runs:
        return
    names = ", ".join(dict.fromkeys(run.config.preset for run in runs))
    if train_long(runs, out, f"to be trained in {out}: {len(runs)} run{'s' * (len(runs) > 1)} of {names}", yes=yes):
        return
    from anira.cli.train import start_or_resume

    for run in runs:
        start_or_resume(run.config, out)


def train_long(runs: Sequence["PlannedRun"], out: Path, what: str, *, yes: bool, estimates: Sequence[str] = ()) -> bool:
    """Say what training takes, and do it by a sweep where that is more than a minute; return whether it is.

    Raise a UserError where it takes long and the user has not agreed.
    """
    from anira.sweeps.launch import cores, expected_seconds

    seconds = expected_seconds(runs)
    for line in (f"{what} (about {duration(seconds)}, without evaluations)", *estimates):
        tell(line)
    if seconds > ASKED and not yes:
        raise UserError(f"training what is missing takes about {duration(seconds)} here: say --yes, or give --runs")
    if seconds > SHORT:
        sweep(runs, out, jobs=cores())
    return seconds > SHORT
