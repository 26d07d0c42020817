"""`anira report RUN ...`: one self-contained page that shows whether depth follows difficulty."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from anira.cli.output import say, tell
from anira.cli.parse import parse
from anira.config import UserError, to_dict, write_files
from anira.tasks import task_class

if TYPE_CHECKING:
    from anira.site.report.about import KnobWords
    from anira.site.report.runs import Run

SUMMARY = (
    "Write one HTML page about some runs: accuracy and depth by knob with intervals, how they came about in training, "
    "nulls, controls and cost, and tokens shaded by their depth. It needs no network and no other file."
)


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """Which runs, and where the page goes."""

    runs: Annotated[Positional[tuple[Path, ...]], arg(metavar="RUN ...")] = ()
    """Run folders; several variants, tasks or seeds may stand on one page."""
    out: Annotated[Path, arg(metavar="FILE")] = Path("report.html")
    """The page; replaced if it exists."""
    csv: Annotated[Path | None, arg(metavar="DIR", help_behavior_hint="(default: none)")] = None
    """Write the tidy table behind the page into this folder: one row per estimate."""
    evaluation: Annotated[str | None, arg(metavar="NAME", help_behavior_hint="(default: the final one)")] = None
    """Which evaluation of the runs."""
    subtask: Annotated[str | None, arg(metavar="NAME", help_behavior_hint="(default: none)")] = None
    """Which subtask, for a task that is several in one."""
    tokens: bool = True
    """Show instances token by token."""


def run(argv: list[str]) -> None:
    """Make the page, and the tables if asked."""
    options = parse(ReportOptions, argv, prog="anira report", description=SUMMARY)
    _check(options)
    write_report(options)
    say(options.out)


def write_report(options: ReportOptions) -> None:
    """Write the page about some runs, and the table behind it if a folder is given for that."""
    from anira.measure.csv import csv_text
    from anira.site import render
    from anira.site.report import build, load_runs

    runs = load_runs(options.runs, options.evaluation, options.subtask)
    report = build(runs, tokens=options.tokens, knobs=knob_words(run.task for run in runs), paper=_paper(runs))
    tables = {} if options.csv is None else {options.csv / "report.csv": csv_text(report.table)}
    write_files({**tables, options.out: render(report.page)})
    number = f"{len(runs)} run{'s' * (len(runs) > 1)}"
    tell(f"wrote a report of {number} ({options.out.stat().st_size:,} bytes)")


def _check(options: ReportOptions) -> None:
    """Find what is wrong before any work starts."""
    out = options.out
    if not options.runs:
        raise UserError("name at least one run folder: anira report RUN ...")
    if out.suffix != ".html":
        raise UserError(f"--out must end in .html, not {out.name!r}")
    if out.is_dir() or not out.parent.is_dir():
        raise UserError(f"{out} is a folder" if out.is_dir() else f"the folder of --out does not exist: {out.parent}")
    if options.csv is not None and options.csv.exists() and not options.csv.is_dir():
        raise UserError(f"--csv must name a folder, and {options.csv} is a file")


def knob_words(tasks: Iterable[str]) -> dict[str, "KnobWords"]:
    """Return what tasks call their knobs; a task whose plugin was not imported has no words for it."""
    from anira.paper.figures import FIGURES
    from anira.site.report import KnobWords

    found = {}
    for task in set(tasks):
        try:
            knob = task_class(task)(None).knob
        except UserError:
            continue
        found[task] = KnobWords(knob.name, knob.meaning, task if task in FIGURES else "")
    return found


def _paper(runs: Sequence["Run"]) -> dict[str, dict[str, Any]]:
    """Return the paper's configuration of each run's task and variant, where the paper has one."""
    from anira.training.presets import preset

    found = {}
    for one in runs:
        try:
            found[one.name] = to_dict(preset(f"{one.task}-{one.config['variant']}-paper").resolved())
        except UserError:
            continue
    return found
