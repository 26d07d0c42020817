"""The paper's figure of task complexity against mean depth: MANO, BREVO and the appendix's DEPO, ANIRA-E and ANIRA-O.

Everything is read from the evaluation that ends a training. Whether ANIRA-O needs less depth is asked instance by
instance, between runs with the same seed.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from anira.config import UserError, to_dict
from anira.measure.claims.knob import CLAIMS, judge_claims
from anira.measure.compare import compare, judge_less_depth, match_seeds, shared_instances
from anira.measure.summary import summarize
from anira.paper.allocation.page import Compared, allocation_sheet, allocation_tables
from anira.paper.files import make_files
from anira.paper.found_runs import runs_of
from anira.paper.setting import Outcome, Setting, UsedRun
from anira.site.report.about import KnobWords
from anira.site.sheet.by_knob import KnobRun
from anira.training import RunFolder

TASKS: Final = ("mano", "brevo", "depo")
VARIANTS: Final = ("anira-e", "anira-o")


def reproduce(setting: Setting) -> Outcome:
    """Make allocation.json, allocation.html and the tables allocation*.csv."""
    wanted = [(task, variant) for task in TASKS for variant in VARIANTS]
    found = [(task, run) for task, variant in wanted for run in runs_of(f"{task}-{variant}-{setting.scale}", setting)]
    shown = [knob_run(run, task, run.folder / "records" / "final") for task, run in found]
    compared = compare_variants(shown)
    follows = [claim for claim in judge_claims([run.figures for run in shown]) if claim.text == CLAIMS["slope"]]
    less = judge_less_depth(compared)
    return make_files(
        setting,
        allocation_sheet(shown, compared, [*follows, *less]),
        runs=[run for _, run in found],
        figures=shown,
        tables=allocation_tables(shown, compared),
        claims={"follows-complexity": follows, "o-less-depth": less},
        beside={"pairs": [{"runs": match.runs, **to_dict(comparison)} for match, comparison in compared]},
    )


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


def compare_variants(runs: Sequence[KnobRun]) -> Compared:
    """Compare ANIRA-E with ANIRA-O wherever a task has both with the same seed."""
    early, online = ([run.figures for run in runs if run.figures.labels.variant == name] for name in VARIANTS)
    return [(match, compare(shared_instances(match))) for match in match_seeds(early, online)]
