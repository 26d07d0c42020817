"""The runs of a figure: those that are finished, wherever they lie, one that is trained now, and planned ones."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from anira.config import UserError, to_dict
from anira.config.strict import values_digest
from anira.evaluation import EvaluationConfig
from anira.measure.records.folders import learned
from anira.measure.records.stored import is_finished as has_finished
from anira.measure.records.stored import read_asked
from anira.paper.figures import FIGURES
from anira.paper.files import evaluated
from anira.paper.setting import Setting, UsedRun
from anira.records import ASKED
from anira.site.report.settings import differences
from anira.sweeps.plan import PlannedRun
from anira.training import RunFolder, TrainConfig
from anira.training.presets import preset, preset_names
from anira.training.status import run_status

FORCED: Final = 500
"""Instances per knob for the forced-depth curve."""
REGISTERED: Final = 1000
"""The same in the studies of docs/studies.md."""


def figure_runs(name: str, setting: Setting) -> list[UsedRun]:
    """Return the runs of the presets of a figure."""
    return [run for one in FIGURES[name].runs for run in runs_of(f"{one}-{setting.scale}", setting)]


def runs_of(name: str, setting: Setting, changes: Mapping[str, Any] | None = None) -> list[UsedRun]:
    """Return the finished runs of a preset, one for each seed; where there is none, train one.

    All of them learned in the same way: as the preset says, with `changes`, if there are such runs, or else in the way
    that has most runs. Each run says in what it differs from the preset, so that pages can show it. A run of another
    task is refused.
    """
    found, others = _find(name, setting, changes or {})
    if others:
        apart = ", ".join(str(folder) for folder in others)
        setting.tell(f"{name}: of another setting, so not a seed of this one: {apart}")
    if found:
        places = " and ".join(dict.fromkeys(str(folder.parent) for folder in found))
        setting.tell(f"{name}: {len(found)} finished run{'s' * (len(found) > 1)} in {places}")
        return [_used(name, folder, found=True, seconds=0.0) for folder in found]
    started = time.monotonic()
    folder = setting.train(name, setting.runs, changes or {})
    return [_used(name, folder, found=False, seconds=time.monotonic() - started)]


def knob_words(runs: Sequence[UsedRun]) -> dict[str, str]:
    """Return what each task calls its knob, and what that counts."""
    tasks = {config.task: config.make_task() for config in (RunFolder(run.folder).read_config() for run in runs)}
    return {name: f"{task.knob.name}: {task.knob.meaning}" for name, task in tasks.items()}


def missing_presets(names: Sequence[str], setting: Setting) -> list[str]:
    """Return the presets of which there is no finished run yet."""
    return [name for name in names if not _find(name, setting, {})[0]]


def is_finished(folder: Path) -> bool:
    """Say whether a run came to its last step and to the evaluation after it.

    An evaluation that is there and cannot be read is an error, not an unfinished run: training again may take hours,
    and the new run would stand beside this one.
    """
    if not (folder / "records" / "final" / ASKED).exists():
        return False
    try:
        RunFolder(folder).read_config()  # must be readable as a whole
        return has_finished(folder)
    except UserError as error:
        advice = "repair the file, or move the folder away to train the run again"
        raise UserError(f"{error}, but it has a last evaluation: {advice}") from error


def _find(name: str, setting: Setting, changes: Mapping[str, Any]) -> tuple[list[Path], list[Path]]:
    """Return folders of finished runs of one setting, and those of others; of a run in two places, the first."""
    places = [place / name for place in (*setting.published, setting.runs)]
    folders = {
        folder.name: folder for place in reversed(places) for folder in place.glob("*-s*") if is_finished(folder)
    }
    configs = {folders[name]: RunFolder(folders[name]).read_config() for name in sorted(folders)}
    groups: dict[str, list[Path]] = {}
    for folder, config in configs.items():
        if all(getattr(config, key) == value for key, value in changes.items()):
            groups.setdefault(_way(config), []).append(folder)
    own = groups.get(_way(replace(preset(name).resolved(), **changes))) or max(groups.values(), key=len, default=[])
    others = [folder for folder in configs if folder not in own]
    return sorted(own, key=lambda folder: configs[folder].seed), others


def _way(config: TrainConfig) -> str:
    return values_digest(learned(to_dict(config)))


def _used(name: str, folder: Path, *, found: bool, seconds: float) -> UsedRun:
    config = RunFolder(folder).read_config()
    if config.task != preset(name).task:
        raise UserError(f"{folder} is a run of task {config.task!r}, not of {preset(name).task}")
    paper = f"{name.rpartition('-')[0]}-paper"
    return UsedRun(
        preset=name,
        folder=folder,
        found=found,
        seconds=seconds,
        differs=differs_from(name, config),
        shrunk=differs_from(paper, config) if paper in preset_names() else (),
    )


def differs_from(name: str, config: TrainConfig) -> tuple[str, ...]:
    """Return in what a run is not a preset: its own value of a setting, and the preset's in brackets."""
    rows = differences([(to_dict(config), to_dict(preset(name).resolved()))])
    return tuple(f"{row.name} {row.here} ({row.there})" for row in rows)


def find_finished(run: PlannedRun, setting: Setting) -> Path | None:
    """Return the folder of a finished run that learned the same, in the folder of runs or a published one.

    Threads, compiler and how often something is logged may differ. Its records may have been left out.
    """
    for place in (*setting.published, setting.runs):
        for folder in sorted((place / run.config.preset).glob(f"*-s{run.config.seed}")):
            if run_status(folder).state == "finished" and _way(RunFolder(folder).read_config()) == _way(run.config):
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


def evaluate_planned(
    planned: Sequence[PlannedRun], setting: Setting, *, records: Callable[[PlannedRun, UsedRun], list[Path]]
) -> tuple[list[UsedRun], dict[str, list[Path]]]:
    """Find each planned run and make the records that it lacks; return the runs, and their evaluations by run id."""
    runs, folders = [], {}
    for i, one in enumerate(planned, start=1):
        runs.append(used_run(one, setting))
        setting.tell(f"reading {i} of {len(planned)}: {one.label}")
        made = records(one, runs[-1])
        folders[str(read_asked(made[0])["run_id"])] = made
    setting.tell(f"measuring {len(planned)} runs")
    return runs, folders


def forced_evaluations(run: UsedRun, setting: Setting, count: int = FORCED) -> list[Path]:
    """Return an evaluation for each depth that all tokens are forced to, and last the one that ended training."""
    config = RunFolder(run.folder).read_config()
    wanted = EvaluationConfig(count=min(count, config.final_count))
    forced = [
        evaluated(run, f"compare-n{wanted.count}-depth-{d}", replace(wanted, override=f"depth-{d}"), setting)
        for d in range(1, config.model["max_depth"] + 1)
    ]
    return [*forced, evaluated(run, "final", replace(wanted, count=config.final_count), setting)]


def forced_folders(runs: Sequence[UsedRun], setting: Setting) -> list[Path]:
    """Return the same for several runs."""
    folders = [folder for run in runs for folder in forced_evaluations(run, setting)]
    setting.tell(f"measuring {len(runs)} runs")
    return folders
