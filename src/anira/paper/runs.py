"""Planned runs and where they lie: what is finished is used, wherever that is; the rest is for a sweep."""

from collections.abc import Sequence
from pathlib import Path

from anira.config import UserError, to_dict
from anira.measure.records.folders import learned
from anira.paper.setting import Setting, UsedRun
from anira.sweeps.plan import PlannedRun
from anira.training import RunFolder
from anira.training.status import run_status


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


def used_run(run: PlannedRun, setting: Setting) -> UsedRun:
    """Return a finished run; one that is not there is an error."""
    folder = find_finished(run, setting)
    if folder is None:
        raise UserError(f"{run.label} is not trained: it has no finished run in {setting.runs}")
    differs = tuple(f"{name} {value}" for name, value in run.changes.items())
    return UsedRun(preset=run.config.preset, folder=folder, found=True, seconds=0.0, differs=differs)
