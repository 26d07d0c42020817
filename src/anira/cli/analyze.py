"""`anira analyze RUN ...`: numbers with intervals, nulls and controls, and what they show, from records."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from anira.cli.output import say, say_json, tell
from anira.cli.parse import parse
from anira.config import UserError, to_dict

if TYPE_CHECKING:
    import polars as pl

_NAMED = 5  # evaluations; a long run makes dozens during training


@dataclass(frozen=True, kw_only=True)
class Options:
    """Which evaluations, and how they are shown."""

    runs: Annotated[Positional[tuple[Path, ...]], arg(metavar="RUN ...", help_behavior_hint="")] = ()
    """Run folders, or folders of evaluations (RUN/records/NAME)."""
    evaluation: Annotated[str | None, arg(metavar="NAME", help_behavior_hint="(default: the final one)")] = None
    """Which evaluation of the runs."""
    subtask: Annotated[str | None, arg(metavar="NAME", help_behavior_hint="(default: all, side by side)")] = None
    """One subtask with everything, for a task that is several in one."""
    seed: Annotated[int, arg(metavar="S")] = 0
    """Seed of resampling and shuffling."""
    json: bool = False
    """Print one JSON object for scripts."""


def run(argv: list[str]) -> None:
    """Analyze every run, then judge what they say together."""
    options = parse(
        Options,
        argv,
        prog="anira analyze",
        description="Judge from records whether depth follows difficulty: accuracy, depth by knob, slopes and rank "
        "correlations with clustered intervals, nulls, the position control, cost. docs/statistics.md explains each.",
    )
    if not options.runs:
        raise UserError("name at least one run folder: anira analyze RUN ...")
    if options.seed < 0:
        raise UserError(f"--seed must not be negative, not {options.seed}")
    _show(options)


def _show(options: Options) -> None:
    from anira.cli.report import knob_words
    from anira.measure import measure
    from anira.measure.records.folders import forced_beside
    from anira.measure.records.instances import few_instances
    from anira.measure.records.loading import find_subtasks, load_evaluation
    from anira.site.report import summarize
    from anira.site.tables import page_text

    folders = _folders(options)
    wanted = [(folder, options.subtask or name) for folder in folders for name in find_subtasks(folder)]
    evaluations = [load_evaluation(folder, name or options.subtask) for folder, name in dict.fromkeys(wanted)]
    if options.evaluation is None and not options.json:
        _name_others(options.runs, folders)
    table = measure([one for folder in folders for one in (*forced_beside(folder), folder)], seed=options.seed)
    if options.subtask is not None:
        table = table.filter(subtask=options.subtask)
    report = summarize(_named(table, folders), knob_words(table["task"].unique().to_list()))
    if options.json:
        say_json({"rows": report.table.to_dicts(), "claims": [to_dict(claim) for claim in report.claims]}, indent=2)
        return
    for line in (line for one in evaluations for line in (*one.warnings, *few_instances(one))):
        say(f"warning: {line}")
    say(page_text(report.page, every=True))


def _named(table: "pl.DataFrame", folders: Sequence[Path]) -> "pl.DataFrame":
    """Return the table with runs named by what sets them apart, seeds aside; two of one seed by their folders too."""
    import polars as pl

    from anira.measure.records.stored import read_asked, run_config
    from anira.site.report.settings import experiment_names

    runs = [read_asked(folder)["run_id"] for folder in folders]
    variants = dict(table.select("run_id", "variant").unique().iter_rows())
    names = experiment_names([variants[run] for run in runs], [run_config(folder) for folder in folders])
    named = table.with_columns(pl.col("run_id").replace_strict(dict(zip(runs, names, strict=True))).alias("variant"))
    several = pl.col("run_id").n_unique().over("task", "subtask", "variant", "seed") > 1
    apart = pl.when(several).then(pl.format("{} ({})", "variant", "run_id")).otherwise("variant")
    return named.with_columns(apart.alias("variant"))


def _folders(options: Options) -> list[Path]:
    from anira.measure.records.folders import choose_evaluation

    folders = [choose_evaluation(path, options.evaluation) for path in options.runs]
    for i, folder in enumerate(folders):
        if folder.resolve() in [other.resolve() for other in folders[:i]]:
            raise UserError(f"{folder} is given twice")
    return folders


def _name_others(runs: Sequence[Path], shown: Sequence[Path]) -> None:
    """Say on stderr which evaluations of the runs are not shown, the most telling ones first."""
    from anira.measure.records.folders import find_evaluations

    for run, folder in zip(runs, shown, strict=True):
        names = [other.name for other in reversed(find_evaluations(run)) if other.name != folder.name]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        if names:
            tell(f"{run}: other evaluations (--evaluation NAME): {', '.join(names[:_NAMED])}{more}")
