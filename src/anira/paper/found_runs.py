"""The runs of an experiment: those that are finished, or one that is trained now."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from anira.config import UserError, to_dict
from anira.config.strict import values_digest
from anira.measure.records.folders import learned
from anira.measure.records.stored import read_asked, run_config
from anira.paper.setting import Setting, UsedRun
from anira.records import ASKED
from anira.site.report.settings import differences
from anira.training import RunFolder, TrainConfig
from anira.training.presets import preset, preset_names


def runs_of(name: str, setting: Setting, changes: Mapping[str, Any] | None = None) -> list[UsedRun]:
    """Return the finished runs of a preset, one for each seed; where there is none, train one.

    All of them learned in the same way: as the preset says, with `changes`, if there are such runs, or else in the way
    that has most runs. What they differ in from the preset is part of what is returned, so that whoever shows a result
    shows it.
    """
    found = _find(name, setting, changes or {})
    if found:
        places = " and ".join(dict.fromkeys(str(folder.parent) for folder in found))
        setting.tell(f"{name}: {len(found)} finished run{'s' * (len(found) > 1)} in {places}")
        return [_used(name, folder, found=True, seconds=0.0) for folder in found]
    started = time.monotonic()
    folder = setting.train(name, setting.runs, changes or {})
    return [_used(name, folder, found=False, seconds=time.monotonic() - started)]


def config_of(run: UsedRun, task: str) -> TrainConfig:
    """Return the configuration of a run; a run of another task is refused."""
    config = RunFolder(run.folder).read_config()
    if config.task != task:
        raise UserError(f"{run.folder} is a run of task {config.task!r}, not of {task}")
    return config


def knob_words(config: TrainConfig) -> str:
    """Return what a run's task calls its knob, and what that counts."""
    knob = config.make_task().knob
    return f"{knob.name}: {knob.meaning}"


def missing_presets(names: Sequence[str], setting: Setting) -> list[str]:
    """Return the presets of which there is no finished run yet."""
    return [name for name in names if not _find(name, setting, {})]


def _find(name: str, setting: Setting, changes: Mapping[str, Any]) -> list[Path]:
    """Return folders of finished runs of one setting; of a run that lies in two places, the first."""
    places = [place / name for place in (*setting.published, setting.runs)]
    folders = {
        folder.name: folder for place in reversed(places) for folder in place.glob("*-s*") if is_finished(folder)
    }
    configs = {folders[name]: RunFolder(folders[name]).read_config() for name in sorted(folders)}
    groups: dict[str, list[Path]] = {}
    for folder, config in configs.items():
        if all(getattr(config, key) == value for key, value in changes.items()):
            groups.setdefault(_way(config), []).append(folder)
    own = groups.get(_way(replace(preset(name).resolved(), **changes)))
    return sorted(own or max(groups.values(), key=len, default=[]), key=lambda folder: configs[folder].seed)


def _way(config: TrainConfig) -> str:
    return values_digest(learned(to_dict(config)))


def is_finished(folder: Path) -> bool:
    """Say whether a run came to its last step and to the evaluation after it.

    Where that evaluation is there and something about it cannot be read, whoever asks must decide: another training
    may take hours, and would stand beside this run.
    """
    final = folder / "records" / "final"
    if not (final / ASKED).exists():
        return False
    try:
        return bool(read_asked(final)["complete"] and read_asked(final)["step"] == _config(folder, final).steps)
    except UserError as error:
        advice = "repair the file, or move the folder away to train the run again"
        raise UserError(f"{error}, but it has a last evaluation: {advice}") from error


def _config(folder: Path, evaluation: Path) -> TrainConfig:
    """Return the configuration of a run, if it is the one that an evaluation is of."""
    config = RunFolder(folder).read_config()
    run_config(evaluation)
    return config


def _used(name: str, folder: Path, *, found: bool, seconds: float) -> UsedRun:
    config = RunFolder(folder).read_config()
    paper = f"{name.rpartition('-')[0]}-paper"
    return UsedRun(
        preset=name,
        folder=folder,
        found=found,
        seconds=seconds,
        differs=_differs(config, name),
        shrunk=_differs(config, paper) if paper in preset_names() else (),
    )


def _differs(config: TrainConfig, name: str) -> tuple[str, ...]:
    """Return in what a run is not a preset."""
    rows = differences([(to_dict(config), to_dict(preset(name).resolved()))])
    return tuple(f"{row.name} {row.here} ({row.there})" for row in rows)
