"""`anira reproduce NAME`: a figure or table of the paper, from runs that are there or that it trains."""

import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

from anira.cli.output import say, say_page, tell
from anira.cli.parse import parse
from anira.cli.training_runs import RunsOptions, make_setting, train_long, train_missing
from anira.config import UserError, layout, nearest
from anira.paper.figures import FIGURES

if TYPE_CHECKING:
    from anira.paper.setting import Outcome, Setting, UsedRun

SUMMARY = (
    "Make a figure or table of the paper: train its runs or use finished ones, evaluate them, and write what they show "
    "as JSON, CSV and a page. Without a NAME, list the figures."
)
ALL = "all"


@dataclass(frozen=True, kw_only=True)
class Options(RunsOptions):
    """What to make, at which size, and where."""

    name: Annotated[Positional[str], arg(metavar="NAME", help_behavior_hint="")] = ""
    """A figure or table, or `all`."""
    scale: Literal["smoke", "cpu", "paper"] = "cpu"
    """smoke: seconds, to see that it works; cpu: minutes to hours on two cores; paper: the paper's sizes, for a GPU."""
    out: Annotated[Path | None, arg(metavar="DIR", help_behavior_hint="(default: reproduced/SCALE)")] = None
    """Folder of the files that are made."""


@dataclass(frozen=True)
class _Done:
    """How one figure went."""

    name: str
    seconds: float
    outcome: "Outcome | None"


def run(argv: list[str]) -> None:
    """Make one figure or all of them, then say what was made from which runs."""
    options = parse(Options, argv, prog="anira reproduce", description=SUMMARY)
    if not options.name:
        width = max(map(len, FIGURES))
        rows = [f"  {name:{width}}  {listed.summary}" for name, listed in FIGURES.items()]
        say("\n".join(["figures (anira reproduce NAME --scale smoke|cpu|paper, or all):", *rows]))
        return
    if options.name not in (ALL, *FIGURES):
        raise UserError(f"unknown figure {options.name!r}: {nearest(options.name, [ALL, *FIGURES])}")
    from anira.paper.index import write_index

    every = [name for name, listed in FIGURES.items() if not listed.plan]  # plans take dozens of runs
    names = every if options.name == ALL else [options.name]
    setting = make_setting(options, options.scale, options.out or Path("reproduced") / options.scale)
    _train_missing(names, setting, yes=options.yes)
    done = [_reproduce(name, setting, alone=options.name != ALL) for name in names]
    say_page(_table(done))
    if any(one.outcome for one in done):
        say(f"all pages: {write_index(setting.out)}")
    failed = [one.name for one in done if one.outcome is None]
    if failed:
        raise UserError(f"{len(failed)} of {len(done)} figures failed: {', '.join(failed)}")


def _train_missing(names: list[str], setting: "Setting", *, yes: bool) -> None:
    """Say which runs are still to be trained and what they take; train them by a sweep, if the user has agreed.

    Runs of seconds are left to the figures: a process for each would take longer to start.
    """
    from anira.paper.runs import missing_presets
    from anira.sweeps.plan import Group, Plan, planned_runs
    from anira.training.estimate import estimate_lines

    wanted = dict.fromkeys(f"{run}-{setting.scale}" for name in names for run in FIGURES[name].runs)
    if missing := missing_presets(list(wanted), setting):
        runs = planned_runs(Plan(groups=(Group(presets=tuple(missing)),)))
        places = " or ".join(str(place) for place in (*setting.published, setting.runs))
        what = f"to be trained, because there is no finished run in {places}: {', '.join(missing)}"
        estimates = estimate_lines([run.config for run in runs]) if setting.scale == "paper" else []
        train_long(runs, setting.runs, what, yes=yes, estimates=estimates)
    for plan in filter(None, (FIGURES[name].plan for name in names)):
        train_missing(import_module(plan).missing(setting), setting.runs, yes=yes)


def _reproduce(name: str, setting: "Setting", *, alone: bool) -> _Done:
    """Make one figure; among others, one that fails leaves a message and lets them go on."""
    from anira.paper.figures import load_figure
    from anira.paper.stored import forget

    started = time.monotonic()
    try:
        forget(setting.out, name)
        outcome = load_figure(name)(setting)
        say_page(f"{outcome.text}\n")
    except Exception as error:
        if alone:
            raise
        if isinstance(error, UserError):
            tell(f"{name} failed: {error}")
        else:
            tell(traceback.format_exc())
        outcome = None
    return _Done(name, time.monotonic() - started, outcome)


def _used(runs: Sequence["UsedRun"]) -> list[str]:
    """Return a line for runs of one preset that were found or trained in one way, with in what they are not it."""
    groups: dict[tuple[Path, str], list[str]] = {}
    for run in runs:
        groups.setdefault((run.folder.parent, run.origin), []).append(run.folder.name)
    return [f"{parent}/{', '.join(names)} ({origin})" for (parent, origin), names in groups.items()]


def _table(done: list[_Done]) -> str:
    rows = []
    for one in done:
        made = [str(file) for file in one.outcome.files] if one.outcome else ["failed"]
        used = _used(one.outcome.runs) if one.outcome else []
        for i in range(max(len(made), len(used))):
            head = [one.name, f"{one.seconds:.0f} s"] if i == 0 else ["", ""]
            rows.append([*head, made[i] if i < len(made) else "", used[i] if i < len(used) else ""])
    return layout(["figure", "time", "made", "from"], rows)
