"""The runs of an experiment: those that are finished, or one that is trained now."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from anira.analysis.stored import read_asked, run_config
from anira.config import UserError, to_dict
from anira.experiments.setting import Setting, UsedRun
from anira.records import ASKED
from anira.report.settings import differences
from anira.training import RunFolder, TrainConfig
from anira.training.presets import preset, preset_names

DECISIVE: Final = ("gamma_warmup_steps",)
"""Settings that an experiment may ask for beside the preset: a run with another value is another experiment's."""


def runs_of(name: str, setting: Setting, changes: Mapping[str, Any] | None = None) -> list[UsedRun]:
    """Return every finished run of a preset, whatever its seed and options; where there is none, train one.

    Runs that were started with other options count too. What they differ in is part of what is returned, so that
    whoever shows a result shows it. Only decisive settings must be those of `changes` or else of the preset.
    """
    found = _find(name, setting, changes or {})
    if found:
        places = " and ".join(dict.fromkeys(str(folder.parent) for folder in found))
        setting.tell(f"{name}: {len(found)} finished run{'s' * (len(found) > 1)} in {places}")
        return [_used(name, folder, found=True, seconds=0.0) for folder in found]
    started = time.monotonic()
    folder = setting.train(name, setting.runs, changes or {})
    return [_used(name, folder, found=False, seconds=time.monotonic() - started)]


def missing_presets(names: Sequence[str], setting: Setting) -> list[str]:
    """Return the presets of which there is no finished run yet."""
    return [name for name in names if not _find(name, setting, {})]


def _find(name: str, setting: Setting, changes: Mapping[str, Any]) -> list[Path]:
    """Return folders of finished runs with the decisive settings; of a run that lies in two places, the first."""
    wanted = {key: getattr(preset(name), key) for key in DECISIVE} | dict(changes)
    places = [place / name for place in (*setting.published, setting.runs)]
    folders = {
        folder.name: folder for place in reversed(places) for folder in place.glob("*-s*") if is_finished(folder)
    }
    configs = {folder: RunFolder(folder).read_config() for folder in folders.values()}
    fitting = [folder for folder, config in configs.items() if all(getattr(config, k) == v for k, v in wanted.items())]
    return sorted(fitting, key=lambda folder: (configs[folder].seed, folder.name))


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
