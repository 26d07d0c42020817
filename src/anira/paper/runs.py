"""Planned runs and where they lie: what is finished is used, wherever that is; the rest is for a sweep."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from anira.config import UserError, to_dict
from anira.evaluation import EvaluationConfig
from anira.measure.records.folders import learned
from anira.measure.records.stored import read_asked
from anira.paper.files import evaluated
from anira.paper.setting import Setting, UsedRun
from anira.sweeps.plan import PlannedRun
from anira.training import RunFolder
from anira.training.status import run_status

FORCED: Final = 500
"""Instances per knob for the forced-depth curve."""


def find_finished(run: PlannedRun, setting: Setting) -> Path | None:
    """Return the folder of a finished run that learned the same, in the folder of runs or a published one.

    Threads, compiler and how often something is logged may differ. Its records may have been left out.
    """
    for place in (*setting.published, setting.runs):
        for folder in sorted((place / run.config.preset).glob(f"*-s{run.config.seed}")):
            if run_status(folder).state == "finished" and learned(to_dict(RunFolder(folder).read_config())) == learned(
                to_dict(run.config)
            ):
                return folder
    return None


def unfinished(runs: Sequence[PlannedRun], setting: Setting) -> list[PlannedRun]:
    """Return the runs that are still to be trained."""
    return [run for run in runs if find_finished(run, setting) is None]


class Evaluated(NamedTuple):
    """Finished runs with their records."""

    runs: list[UsedRun]
    folders: dict[str, list[Path]]
    """Evaluations by run id."""
    labels: dict[str, str]
    """What a page calls each run, by run id."""


def evaluate_planned(
    planned: Sequence[PlannedRun],
    setting: Setting,
    *,
    label: Callable[[PlannedRun], str],
    records: Callable[[UsedRun, str], list[Path]],
) -> Evaluated:
    """Find each planned run and make the records that it lacks; `records` is given the run and its label."""
    found = Evaluated([], {}, {})
    for i, one in enumerate(planned, start=1):
        run, name = used_run(one, setting), label(one)
        setting.tell(f"reading {i} of {len(planned)}: {one.label}")
        made = records(run, name)
        run_id = read_asked(made[0])["run_id"]
        found.folders[run_id], found.labels[run_id] = made, name
        found.runs.append(run)
    setting.tell(f"measuring {len(planned)} runs")
    return found


def used_run(run: PlannedRun, setting: Setting) -> UsedRun:
    """Return a finished run; one that is not there is an error."""
    folder = find_finished(run, setting)
    if folder is None:
        raise UserError(f"{run.label} is not trained: it has no finished run in {setting.runs}")
    differs = tuple(f"{name} {value}" for name, value in run.changes.items())
    return UsedRun(preset=run.config.preset, folder=folder, found=True, seconds=0.0, differs=differs)


def forced_evaluations(run: UsedRun, setting: Setting, count: int = FORCED) -> list[Path]:
    """Return an evaluation for each depth that all tokens are forced to, and last the one that ended training."""
    config = RunFolder(run.folder).read_config()
    wanted = EvaluationConfig(count=min(count, config.final_count))
    forced = [
        evaluated(run, f"compare-n{wanted.count}-depth-{d}", replace(wanted, override=f"depth-{d}"), setting)
        for d in range(1, config.model["max_depth"] + 1)
    ]
    return [*forced, evaluated(run, "final", replace(wanted, count=config.final_count), setting)]
