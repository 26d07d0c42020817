"""The paper's figure of MANO beyond the trained sizes: ANIRA-E, ANIRA-O, fixed depth, and unshared layers.

Each run is evaluated from its smallest trained size to well beyond the largest. Rows beyond `max_length` are read like
any others: rotary position embeddings have a value for every position. That no training row had those positions is part
of what is asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from anira.config import UserError, to_dict
from anira.evaluation import EvaluationConfig
from anira.measure.compare import Match, match_seeds
from anira.measure.extrapolation import Rivals, compare_rivals, judge_generalisation, judge_graceful
from anira.measure.summary import summarize
from anira.paper.extrapolation.page import extrapolation_sheet, extrapolation_tables
from anira.paper.files import evaluated, make_files
from anira.paper.found_runs import runs_of
from anira.paper.setting import Outcome, Setting, UsedRun
from anira.site.report.about import KnobWords
from anira.site.sheet.by_knob import KnobRun
from anira.tasks.base import Knob
from anira.training import RunFolder

TASK: Final = "mano"
ADAPTIVE: Final = ("anira-e", "anira-o")
"""The variants that the claim of no generalisation is about; the others are what they are compared with."""
VARIANTS: Final = (*ADAPTIVE, "fixed", "unshared")
RIVALS: Final = ("anira-e", "fixed")
"""The variants that the paper says ANIRA-O keeps its accuracy longer than."""


@dataclass(frozen=True)
class Size:
    """How much is evaluated."""

    instances: int
    """A knob."""
    beyond: float
    """Knobs go to the largest seen one times this."""


SIZES: Final = {"smoke": Size(16, 2.0), "cpu": Size(1000, 2.0), "paper": Size(1000, 1.5)}


def reproduce(setting: Setting) -> Outcome:
    """Make extrapolation.json, extrapolation.html and the tables extrapolation*.csv."""
    used = [run for variant in VARIANTS for run in runs_of(f"{TASK}-{variant}-{setting.scale}", setting)]
    shown = [_figures(run, SIZES[setting.scale], setting) for run in used]
    compared = compare_with_rivals(shown)
    rivals = [found for _, found in compared]
    drops, graceful = judge_generalisation([run.figures for run in shown]), judge_graceful(compared)
    adaptive = judge_generalisation([run.figures for run in shown if run.figures.labels.variant in ADAPTIVE])
    return make_files(
        setting,
        extrapolation_sheet(shown, rivals, [*drops, *graceful]),
        runs=used,
        figures=shown,
        tables=extrapolation_tables(shown, rivals),
        claims={"no-generalisation": adaptive, "o-degrades-gracefully": graceful},
        beside={"pairs": [to_dict(one) for one in rivals]},
    )


def evaluated_knobs(knob: Knob, size: Size) -> tuple[int, ...]:
    """Return the knobs from the smallest seen one to beyond the largest, as far as the task goes.

    >>> evaluated_knobs(Knob(name="L", meaning="", cost="L", seen=(1, 2, 3), minimum=1, maximum=200), Size(16, 2.0))
    (1, 2, 3, 4, 5, 6)
    """
    last = min(int(knob.seen[-1] * size.beyond), knob.maximum)
    return tuple(range(knob.seen[0], max(last, knob.seen[-1]) + 1))


def _figures(run: UsedRun, size: Size, setting: Setting) -> KnobRun:
    """Make the records that are missing, and compute a run's figures from them."""
    config = RunFolder(run.folder).read_config()
    if config.task != TASK:
        raise UserError(f"{run.folder} is a run of task {config.task!r}, not of {TASK}")
    wanted = EvaluationConfig(knobs=evaluated_knobs(config.make_task().knob, size), count=size.instances)
    return knob_run(run, TASK, evaluated(run, f"beyond-n{size.instances}", wanted, setting))


def compare_with_rivals(runs: Sequence[KnobRun]) -> list[tuple[Match, Rivals]]:
    """Compare ANIRA-O with the variants that it should outlast, wherever both have the same seed."""
    found = {name: [run.figures for run in runs if run.figures.labels.variant == name] for name in VARIANTS}
    matches = [match for rival in RIVALS for match in match_seeds(found["anira-o"], found[rival])]
    return [(match, compare_rivals(match)) for match in matches]


def knob_run(run: UsedRun, task: str, records: Path) -> KnobRun:
    """Return what the records of a run say; a run of another task is refused."""
    config = RunFolder(run.folder).read_config()
    if config.task != task:
        raise UserError(f"{run.folder} is a run of task {config.task!r}, not of {task}")
    knob = config.make_task().knob
    return KnobRun(
        origin=run.origin,
        knob=KnobWords(knob.name, knob.meaning),
        max_length=config.max_length,
        figures=summarize(records),
    )
