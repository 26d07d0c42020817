"""`anira analyze RUN ...`: figures with intervals, nulls and controls, and what they show, from records."""

import json
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from anira.cli.parse import parse
from anira.config import UserError

_WIDTH = 100


@dataclass(frozen=True, kw_only=True)
class Options:
    """Which evaluations, and how they are shown."""

    runs: Annotated[Positional[tuple[Path, ...]], arg(metavar="RUN ...", help_behavior_hint="")] = ()
    """Run folders, or folders of evaluations (RUN/records/NAME)."""
    evaluation: Annotated[str | None, arg(metavar="NAME", help_behavior_hint="(default: the final one)")] = None
    """Which evaluation of the runs."""
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
    from anira.analysis import judge_claims, load_evaluation, summarize

    evaluations = [load_evaluation(folder) for folder in _folders(options)]  # all are checked before the work starts
    summaries = []
    for evaluation in evaluations:
        summaries.append(summarize(evaluation, seed=options.seed))
        if not options.json:
            print(_text(summaries[-1]))
    verdicts = judge_claims(summaries)
    if options.json:
        print(json.dumps({"evaluations": [one.to_dict() for one in summaries], "claims": _plain(verdicts)}, indent=2))
    else:
        print(_verdicts(verdicts))


def _folders(options: Options) -> list[Path]:
    from anira.analysis import choose_evaluation

    folders = [choose_evaluation(path, options.evaluation) for path in options.runs]
    for i, folder in enumerate(folders):
        if folder.resolve() in [other.resolve() for other in folders[:i]]:
            raise UserError(f"{folder} is given twice")
    return folders


def _text(summary: Any) -> str:
    from anira.analysis import findings, tables, title

    parts = [title(summary), *(f"warning: {line}" for line in summary.warnings)]
    parts += [f"\n{name}\n{textwrap.indent(table, '  ')}" for name, table in tables(summary)]
    return "\n".join([*parts, "\nWhat this shows", *map(_item, findings(summary)), ""])


def _verdicts(verdicts: list[Any]) -> str:
    from anira.analysis import verdict_sentence

    return "\n".join(["Verdicts", *(_item(verdict_sentence(claim)) for claim in verdicts)])


def _item(sentence: str) -> str:
    return textwrap.fill(sentence, _WIDTH, initial_indent="  - ", subsequent_indent="    ", break_long_words=False)


def _plain(verdicts: list[Any]) -> list[dict[str, Any]]:
    from anira.config import to_dict

    return [to_dict(claim) for claim in verdicts]
