"""`anira analyze RUN ...`: figures with intervals, nulls and controls, and what they show, from records."""

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from anira.cli.output import say, say_json, tell
from anira.cli.parse import parse
from anira.config import UserError, command

_WIDTH = 100
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
    from anira.measure.claims.knob import judge_claims
    from anira.measure.records.loading import find_subtasks, load_evaluation
    from anira.measure.subtasks import overview
    from anira.measure.summary import summarize

    folders = _folders(options)
    several = [folder for folder in folders if options.subtask is None and len(find_subtasks(folder)) > 1]
    single = [folder for folder in folders if folder not in several]
    evaluations = [load_evaluation(folder, options.subtask) for folder in single]  # all are checked before work starts
    for folder in several:
        for subtask in find_subtasks(folder):
            load_evaluation(folder, subtask)
    if options.evaluation is None and not options.json:
        _name_others(options.runs, folders)
    summaries = [_said(summarize(one, seed=options.seed), _text, options) for one in evaluations]
    overviews = [_said(overview(folder, seed=options.seed), _overview_text, options) for folder in several]
    verdicts = judge_claims(summaries)
    if options.json:
        shown = {"overviews": [one.to_dict() for one in overviews]} if overviews else {}
        plain = {"evaluations": [one.to_dict() for one in summaries], **shown, "claims": _plain(verdicts)}
        say_json(plain, indent=2)
    elif verdicts:
        say(_verdicts(verdicts))


def _said(figures: Any, text: Callable[[Any], str], options: Options) -> Any:
    """Print figures as soon as they are there, unless JSON will come at the end."""
    if not options.json:
        say(text(figures))
    return figures


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


def _text(summary: Any) -> str:
    from anira.measure.claims.findings import findings
    from anira.site.plain import tables, title

    parts = [title(summary), *(f"warning: {line}" for line in summary.warnings)]
    parts += [f"\n{name}\n{textwrap.indent(table, '  ')}" for name, table in tables(summary)]
    return "\n".join([*parts, "\nWhat this shows", *map(_item, findings(summary)), ""])


def _overview_text(shown: Any) -> str:
    from anira.measure.claims.knob import experiment
    from anira.site.plain import overview_tables

    labels = shown.labels
    head = f"{experiment(labels)}, seed {labels.seed}, step {labels.step}, max_depth {labels.max_depth}"
    note = f"{len(shown.subtasks)} subtasks, each on its own; 95% intervals, clustered by instance"
    parts = [head, note, labels.evaluation, *(f"warning: {line}" for line in shown.warnings)]
    parts += [f"\n{name}\n{textwrap.indent(table, '  ')}" for name, table in overview_tables(shown)]
    one = f"{command('anira', 'analyze', Path(labels.evaluation))} --subtask NAME"
    return "\n".join([*parts, f"\nNulls, controls and cost of one: {one}", ""])


def _verdicts(verdicts: list[Any]) -> str:
    from anira.measure.claims.findings import verdict_sentence

    return "\n".join(["Verdicts", *(_item(verdict_sentence(claim)) for claim in verdicts)])


def _item(sentence: str) -> str:
    return textwrap.fill(sentence, _WIDTH, initial_indent="  - ", subsequent_indent="    ", break_long_words=False)


def _plain(verdicts: list[Any]) -> list[dict[str, Any]]:
    from anira.config import to_dict

    return [to_dict(claim) for claim in verdicts]
