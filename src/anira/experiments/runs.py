"""The runs of an experiment: those that are finished, or one that is trained now."""

import json
import time
from pathlib import Path

from anira.config import UserError, to_dict
from anira.experiments.setting import Setting, UsedRun
from anira.report.settings import differences
from anira.training import RunFolder, TrainConfig
from anira.training.presets import preset


def runs_of(name: str, setting: Setting) -> list[UsedRun]:
    """Return every finished run of a preset, whatever its seed and options; where there is none, train one.

    Runs that were started with other options count too. What they differ in is part of what is returned, so that
    whoever shows a result shows it.
    """
    found = [folder for folder in sorted((setting.runs / name).glob("*-s*")) if is_finished(folder)]
    if found:
        setting.tell(f"{name}: {len(found)} finished run{'s' * (len(found) > 1)} in {setting.runs / name}")
        return [_used(name, folder, found=True, seconds=0.0) for folder in found]
    started = time.monotonic()
    folder = setting.train(name, setting.runs)
    return [_used(name, folder, found=False, seconds=time.monotonic() - started)]


def is_finished(folder: Path) -> bool:
    """Say whether a run came to its last step and to the evaluation after it."""
    try:
        config = RunFolder(folder).read_config()
        final = json.loads((folder / "records" / "final" / "evaluation.json").read_text())
    except (UserError, OSError, ValueError):
        return False
    return bool(final.get("complete")) and final.get("step") == config.steps


def _used(name: str, folder: Path, *, found: bool, seconds: float) -> UsedRun:
    config = RunFolder(folder).read_config()
    return UsedRun(preset=name, folder=folder, found=found, seconds=seconds, differs=_differs(config, name))


def _differs(config: TrainConfig, name: str) -> tuple[str, ...]:
    rows = differences([(to_dict(config), to_dict(preset(name).resolved()))])
    return tuple(f"{row.name} {row.here} ({row.there})" for row in rows)
