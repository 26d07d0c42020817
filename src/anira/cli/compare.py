"""`anira compare --task TASK --policies A,B,fixed`: policies on one backbone, judged alike, on one page."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import arg

from anira.cli.output import say, say_page, tell
from anira.cli.parse import parse
from anira.cli.training_runs import RunsOptions, make_setting, train_missing
from anira.config import UserError

if TYPE_CHECKING:
    from anira.paper.policies.runs import Comparison

SUMMARY = (
    "Compare policies on one task: train the runs that are missing, evaluate them at their own and at forced depths, "
    "and write one page with a leaderboard. With fixed among the policies, models are also trained at every fixed "
    "depth: the curve that a policy must lie above at equal compute."
)


@dataclass(frozen=True, kw_only=True)
class Options(RunsOptions):
    """What to compare, at which size, and where."""

    task: Annotated[str, arg(metavar="TASK")]
    """As presets name it: words, words-z6, mano, ..."""
    policies: Annotated[str, arg(metavar="NAMES")]
    """Such as anira-e,anira-o,fixed; one from outside needs --plugin MODULE, as every command takes it."""
    seeds: Annotated[int, arg(metavar="N")] = 3
    """Seeds of each policy, from 0 on; a verdict takes three."""
    scale: Literal["smoke", "cpu"] = "cpu"
    """smoke: seconds per run, to see that it works; cpu: minutes per run on two cores."""
    set: Annotated[tuple[str, ...], arg(metavar="NAME=VALUE ...")] = ()
    """Options of all runs that are not the presets', such as steps=500."""
    count: Annotated[int, arg(aliases=["-n"], metavar="N")] = 300
    """Instances per knob in the evaluations that are made, at most as many as in the one that ends a training."""
    out: Annotated[Path | None, arg(metavar="DIR", help_behavior_hint="(default: compared/SCALE)")] = None
    """Folder of the page."""


def run(argv: list[str]) -> None:
    """Train, evaluate, measure, and write the page."""
    options = parse(Options, argv, prog="anira compare", description=SUMMARY)
    from anira.paper.policies.make import make_comparison, missing_runs

    comparison = _comparison(options)
    setting = make_setting(options, options.scale, options.out or Path("compared") / options.scale)
    train_missing(missing_runs([comparison], setting), setting.runs, yes=options.yes)
    outcome = make_comparison(comparison, setting)
    page = outcome.files[-1]
    say_page(f"{outcome.text}\n")
    tell(f"wrote a comparison of {len(outcome.runs)} runs ({page.stat().st_size:,} bytes)")
    say(page)


def _comparison(options: Options) -> "Comparison":
    """Return what is asked for; whatever cannot be compared is refused before anything starts."""
    from anira.cli import PLUGINS
    from anira.paper.policies.runs import Comparison, check
    from anira.sweeps.plan import parse_assignment

    values = dict(map(parse_assignment, options.set))
    for name, found in values.items():
        if len(found) > 1:
            raise UserError(f"--set takes one value here, not several of {name}")
    comparison = Comparison(
        task=options.task,
        policies=tuple(name.strip() for name in options.policies.split(",")),
        seeds=options.seeds,
        scale=options.scale,
        set={name: found[0] for name, found in values.items()},
        count=options.count,
        plugins=tuple(PLUGINS),
    )
    check(comparison)
    return comparison
