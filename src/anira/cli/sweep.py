"""`anira sweep PLAN | PRESET ...`: many runs, brought to their end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, arg

from anira.cli import PLUGINS
from anira.cli.output import say
from anira.cli.parse import parse
from anira.cli.sweep_table import close, estimate_table, live_table
from anira.config import UserError

if TYPE_CHECKING:
    from anira.sweeps.plan import Group, Plan, PlannedRun

SUMMARY = (
    "Train many runs: those of a plan (a TOML file, docs/guide.md), or presets with seeds and options. What is "
    "finished is not run again, and what was stopped or killed goes on: the same command is always safe to repeat."
)


@dataclass(frozen=True, kw_only=True)
class Options:
    """What to run, and where."""

    what: Annotated[Positional[tuple[str, ...]], arg(metavar="PLAN|PRESET ...")] = ()
    """A plan (a file that ends in .toml), or presets."""
    seeds: Annotated[str | None, arg(metavar="S")] = None
    """Seeds of presets, such as 0:4 (five) or 1,2,7; seed 0 by default."""
    set: Annotated[tuple[str, ...], arg(metavar="NAME=VALUE ...")] = ()
    """Options of presets, such as steps=500 policy.gamma=.03,.1,.3: several values make a grid."""
    out: Annotated[Path, arg(metavar="DIR")] = Path("runs")
    """Folder of all runs, as of `anira train`."""
    on: Literal["local", "ray", "slurm"] = "local"
    """local: processes of this machine; ray: a Ray cluster; slurm: a Slurm cluster. Both need pip install
    'anira[sweeps]' and a folder of runs that all machines see."""
    jobs: Annotated[
        int | None, arg(metavar="N", help_behavior_hint="(default: cores / threads, or all on a cluster)")
    ] = None
    """How many runs at a time."""
    threads: Annotated[int | None, arg(metavar="N", help_behavior_hint="(default: the plan's, or 1)")] = None
    """CPU threads of each run; a run with other threads is another run."""
    hours: Annotated[float | None, arg(metavar="H", help_behavior_hint="(default: the plan's, or no limit)")] = None
    """Stop after so long; runs that are under way write a checkpoint."""
    slurm: Annotated[tuple[str, ...], arg(metavar="NAME=VALUE ...")] = ()
    """Options for Slurm, as submitit names them, such as timeout_min=240 slurm_partition=cpu."""
    dry_run: bool = False
    """Only print the runs, how they stand, and what they take."""


def run(argv: list[str]) -> None:
    """Run the sweep."""
    options = parse(Options, argv, prog="anira sweep", description=SUMMARY)
    plan = _plan(options)
    from anira.sweeps.launch import places_of
    from anira.sweeps.plan import planned_runs

    runs = planned_runs(plan)
    jobs = _jobs(options, plan.threads, len(runs))
    if options.dry_run:
        say(estimate_table(places_of(runs, options.out), jobs))
        return
    sweep(runs, options.out, jobs=jobs, hours=plan.hours, on=options.on, slurm=_slurm(options))


def sweep(
    runs: Sequence["PlannedRun"],
    out: Path,
    *,
    jobs: int,
    hours: float | None = None,
    on: str = "local",
    slurm: Mapping[str, Any] | None = None,
) -> None:
    """Bring runs to their end in a folder of runs, and show how they stand; one that fails is an error at the end."""
    from anira.sweeps.launch import make_queue, places_of

    places = places_of(runs, out, PLUGINS)
    queue = make_queue(places, out, jobs=jobs, on=on, slurm=slurm or {})
    with live_table() as show:
        done = queue.work(seconds=None if hours is None else hours * 3600, show=show)
    close(places, done=done)


def _plan(options: Options) -> "Plan":
    """Return what is asked for as a plan, whether it is a file or flags; a flag is stronger than the file."""
    from anira.sweeps.plan import Plan, check_limits, read_plan

    plans = [word for word in options.what if word.endswith(".toml")]
    if not options.what:
        raise UserError("name a plan or presets: anira sweep plans/words.toml, or anira sweep mano-anira-o-smoke")
    if plans and (len(options.what) > 1 or options.seeds is not None or options.set):
        raise UserError("a plan stands alone: its presets, seeds and options are in the file")
    plan = read_plan(Path(plans[0])) if plans else Plan(groups=(_group(options),))
    limits = {name: getattr(options, name) for name in ("threads", "hours") if getattr(options, name) is not None}
    plan = replace(plan, **limits)
    check_limits(plan)
    return plan


def _group(options: Options) -> "Group":
    from anira.sweeps.plan import Group, check_group, parse_assignment, parse_seeds

    values = dict(map(parse_assignment, options.set))
    if len(values) < len(options.set):
        raise UserError("--set names an option twice: write its values with commas, as in policy.gamma=.03,.1")
    return check_group(
        Group(
            presets=options.what,
            seeds=parse_seeds("0" if options.seeds is None else options.seeds),
            set={name: found[0] for name, found in values.items() if len(found) == 1},
            grid={name: found for name, found in values.items() if len(found) > 1},
        )
    )


def _jobs(options: Options, threads: int, runs: int) -> int:
    """Return how many runs go at a time."""
    from anira.sweeps.launch import cores

    if options.jobs is not None and options.jobs < 1:
        raise UserError(f"--jobs must be at least 1, not {options.jobs}")
    if options.on != "local":
        return options.jobs or runs
    jobs = options.jobs or max(1, cores() // threads)
    if jobs * threads > cores() and jobs > 1:
        raise UserError(f"{jobs} runs of {threads} threads do not fit {cores()} cores: they would slow each other down")
    return jobs


def _slurm(options: Options) -> dict[str, Any]:
    if options.slurm and options.on != "slurm":
        raise UserError("--slurm goes with --on slurm")
    from anira.sweeps.plan import parse_assignment

    return {name: values[0] for name, values in map(parse_assignment, options.slurm)}
